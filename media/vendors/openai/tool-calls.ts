import { MAX_ARGUMENTS, MAX_CALLS, tooLong, toolCall, tooMany } from '../../agent/tools/given-arguments.js'
import type { ToolCall } from '../../agent/vendor-ports.js'
import { isRecord } from '../shared/json.js'

/** A call whose fragments arrive. */
interface Slot {
  id: string
  name: string
  text: string
  /** Arguments that the server sent as an object. */
  whole: Readonly<Record<string, unknown>> | null
  readonly end: ObjectEnd
}

/** A fragment of a call. Empty texts are absent. */
interface Fragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly text: string
  readonly whole: Readonly<Record<string, unknown>> | null
}

/**
 * Assembles tool calls from streamed fragments. Fragments of one index belong together, even if each has an id of its
 * own. Without an index the id decides, else the position. A server may send every call under index 0: a call is then
 * over when its object is closed, and the next object or name begins another call. Throws EngineError `vendor_failed`
 * when a bound is exceeded. Arguments that cannot be read make a call `unusable`.
 */
export class ToolCallAssembly {
  readonly #slots: Slot[] = []
  readonly #byIndex = new Map<number, Slot>()
  readonly #names: readonly string[]

  /** `names` are those of the declared tools. A name may arrive in pieces. */
  constructor(names: readonly string[] = []) {
    this.#names = names
  }

  get size(): number {
    return this.#slots.length
  }

  /** Adds `tool_calls` of one delta. */
  add(fragments: unknown): void {
    if (!Array.isArray(fragments)) return
    const touched = new Set<Slot>()
    fragments.forEach((given: unknown, position) => {
      if (!isRecord(given)) return
      const fragment = fragmentOf(given)
      const single = fragments.length === 1
      const known = this.#known(fragment, single ? this.#slots.length - 1 : position)
      const other = known === null || (touched.has(known) && fragment.id !== '' && fragment.id !== known.id)
      const slot = other || this.#beginsAnother(known, fragment) ? this.#create() : known
      if (fragment.index !== null) this.#byIndex.set(fragment.index, slot)
      touched.add(slot)
      this.#append(slot, fragment)
    })
  }

  finish(): readonly ToolCall[] {
    return this.#slots
      .filter((slot) => slot.name !== '')
      .map(({ id, name, text, whole }, position) => {
        const call = toolCall(id === '' ? `call_${position}` : id, name, text)
        // Some servers send the input at the start and once more in pieces.
        const empty = call.unusable !== undefined || Object.keys(call.arguments).length === 0
        return whole !== null && empty ? toolCall(call.id, name, whole) : call
      })
  }

  /** Returns the call that a fragment continues, unless it begins another one. */
  #known({ index, id, name }: Fragment, position: number): Slot | null {
    const byIndex = index === null ? undefined : this.#byIndex.get(index)
    if (byIndex !== undefined) return byIndex
    const byId = id === '' ? undefined : this.#slots.find((slot) => slot.id === id)
    if (byId !== undefined) return byId
    // A call begins with a name.
    if (name === '') return (id === '' && index === null ? this.#slots[position] : this.#slots.at(-1)) ?? null
    return index === null ? (this.#slots[position] ?? null) : null
  }

  #beginsAnother(slot: Slot, { id, name, text, whole }: Fragment): boolean {
    if (slot.name === '' || name === '') return false
    const otherId = id !== '' && slot.id !== '' && id !== slot.id
    if (name !== slot.name) return otherId || !this.#continuesName(slot, name)
    const complete = slot.whole !== null || slot.end.reached
    const begins = whole !== null || begin(text)
    return complete && begins && (id === '' || id !== slot.id)
  }

  #continuesName(slot: Slot, piece: string): boolean {
    if (slot.text !== '' || slot.whole !== null || this.#names.includes(slot.name)) return false
    return this.#names.some((name) => name.startsWith(slot.name + piece))
  }

  #append(slot: Slot, { id, name, text, whole }: Fragment): void {
    if (slot.id === '') slot.id = id
    if (slot.name === '') slot.name = name
    else if (name !== slot.name) slot.name += name
    slot.whole = whole ?? slot.whole
    // Some servers send an empty object before the arguments, or the whole call again.
    const said = slot.text.trim()
    if (slot.end.reached && begin(text) && (said === '{}' || said === text.trim())) {
      slot.text = ''
      slot.end.reset()
    }
    slot.text += text
    slot.end.add(text)
    if (slot.text.length > MAX_ARGUMENTS) throw tooLong()
  }

  #create(): Slot {
    if (this.#slots.length >= MAX_CALLS) throw tooMany()
    const slot = { id: '', name: '', text: '', whole: null, end: new ObjectEnd() }
    this.#slots.push(slot)
    return slot
  }
}

/** Finds the end of a JSON object that arrives in pieces. */
class ObjectEnd {
  #depth = 0
  #inString = false
  #escaped = false
  /** True if the outermost brace is closed. */
  reached = false

  add(text: string): void {
    for (let i = 0; i < text.length && !this.reached; i++) {
      const character = text[i]
      if (this.#escaped) this.#escaped = false
      else if (character === '\\') this.#escaped = this.#inString
      else if (character === '"') this.#inString = !this.#inString
      else if (this.#inString) continue
      else if (character === '{') this.#depth++
      else if (character === '}') this.reached = --this.#depth === 0
    }
  }

  reset(): void {
    this.#depth = 0
    this.#inString = false
    this.#escaped = false
    this.reached = false
  }
}

function begin(text: string): boolean {
  return text.trimStart().startsWith('{')
}

function fragmentOf(given: Readonly<Record<string, unknown>>): Fragment {
  const call = isRecord(given.function) ? given.function : given
  const args = call.arguments
  return {
    index: indexOf(given.index),
    id: typeof given.id === 'string' ? given.id : '',
    name: typeof call.name === 'string' ? call.name : '',
    text: typeof args === 'string' ? args : isRecord(args) || args == null ? '' : JSON.stringify(args),
    // Some servers send an empty object before the pieces of the real one.
    whole: isRecord(args) && Object.keys(args).length > 0 ? args : null,
  }
}

/** Returns the index, or null without one. Some servers write it as text. */
function indexOf(given: unknown): number | null {
  const index = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : given
  return typeof index === 'number' && Number.isFinite(index) ? index : null
}
