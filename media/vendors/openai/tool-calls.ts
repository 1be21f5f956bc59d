import type { ToolCall } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { parseForeignJson } from '../../base/foreign-text.js'
import { isRecord } from '../shared/json.js'

const MAX_CALLS = 32
const MAX_ARGUMENTS = 65_536

interface Slot {
  id: string
  name: string
  arguments: string
}

/**
 * Assembles tool calls from streamed fragments. Fragments belong together by `index`, without it by `id`,
 * else by position; a second id under one index starts a second call. Throws EngineError `vendor_failed` when
 * a bound is exceeded or the arguments are not a JSON object.
 */
export class ToolCallAssembly {
  readonly #slots: Slot[] = []
  readonly #byIndex = new Map<number, Slot>()

  get size(): number {
    return this.#slots.length
  }

  /** Adds `tool_calls` of one delta. */
  add(fragments: unknown): void {
    if (!Array.isArray(fragments)) return
    fragments.forEach((fragment: unknown, position) => {
      if (isRecord(fragment)) this.#addOne(fragment, position)
    })
  }

  finish(): readonly ToolCall[] {
    return this.#slots
      .filter((slot) => slot.name !== '')
      .map((slot, position) => ({
        id: slot.id === '' ? `call_${position}` : slot.id,
        name: slot.name,
        arguments: parseArguments(slot),
      }))
  }

  #addOne(fragment: Record<string, unknown>, position: number): void {
    const id = typeof fragment.id === 'string' ? fragment.id : ''
    const slot = this.#slotFor(fragment.index, id, position)
    if (slot.id === '') slot.id = id
    const call = isRecord(fragment.function) ? fragment.function : {}
    if (typeof call.name === 'string' && slot.name === '') slot.name = call.name
    const args = call.arguments
    if (typeof args === 'string') slot.arguments += args
    else if (isRecord(args)) slot.arguments = JSON.stringify(args)
    if (slot.arguments.length > MAX_ARGUMENTS) {
      throw new EngineError('vendor_failed', 'the model sent tool arguments that are too long')
    }
  }

  #slotFor(index: unknown, id: string, position: number): Slot {
    if (typeof index === 'number') {
      const known = this.#byIndex.get(index)
      if (known !== undefined && (id === '' || known.id === '' || known.id === id)) return known
      const slot = this.#create()
      this.#byIndex.set(index, slot)
      return slot
    }
    const known = id === '' ? this.#slots[position] : this.#slots.find((slot) => slot.id === id)
    return known ?? this.#create()
  }

  #create(): Slot {
    if (this.#slots.length >= MAX_CALLS) {
      throw new EngineError('vendor_failed', 'the model called too many tools at once')
    }
    const slot = { id: '', name: '', arguments: '' }
    this.#slots.push(slot)
    return slot
  }
}

function parseArguments(slot: Slot): Readonly<Record<string, unknown>> {
  if (slot.arguments.trim() === '') return {}
  let parsed: unknown
  try {
    parsed = parseForeignJson(slot.arguments)
  } catch (error) {
    throw new EngineError('vendor_failed', 'the model sent tool arguments that are not JSON', {
      cause: error,
      context: { tool: slot.name, length: slot.arguments.length },
    })
  }
  if (parsed === null) return {}
  if (!isRecord(parsed)) {
    throw new EngineError('vendor_failed', 'the model sent tool arguments that are not an object', {
      context: { tool: slot.name },
    })
  }
  return parsed
}
