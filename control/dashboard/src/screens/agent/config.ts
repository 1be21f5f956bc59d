import type { Result } from '../../api.js'

export type AgentView = Result<'readAgent'>

/** Settings that a version of an agent keeps. */
const SETTINGS = [
  'systemPrompt',
  'llmModel',
  'knowledgeBaseIds',
  'voice',
  'ttsOptions',
  'callSettings',
  'tools',
  'inputVariables',
  'outputVariables',
  'evaluationCriteria',
] as const

export type Settings = Pick<AgentView, (typeof SETTINGS)[number]>
/** Values that the form and the JSON change. */
export type Draft = Settings & Pick<AgentView, 'name' | 'description'>

/** Returns the settings of an agent or of a version of it. */
export function settingsOf(agent: Settings): Settings {
  return Object.fromEntries(SETTINGS.map((name) => [name, agent[name]])) as unknown as Settings
}

export function draftOf(agent: AgentView): Draft {
  return { name: agent.name, description: agent.description, ...settingsOf(agent) }
}

type Branch = Readonly<Record<string, unknown>>

const isBranch = (value: unknown): value is Branch =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Returns the change from `before` to `after` as the service takes it: objects are merged, arrays are replaced. A field that is
 * missing in `after` keeps its value.
 */
export function patchOf(before: unknown, after: unknown): Branch {
  const patch: Record<string, unknown> = {}
  if (!isBranch(after)) return patch
  const old = isBranch(before) ? before : {}
  for (const [name, value] of Object.entries(after)) {
    if (isSame(old[name], value)) continue
    patch[name] = isBranch(value) && isBranch(old[name]) ? patchOf(old[name], value) : value
  }
  return patch
}

/** Returns `root` with a change: objects are merged, everything else is replaced. */
function withChange<T extends object>(root: T, change: Branch): T {
  const changed: Record<string, unknown> = Object.fromEntries(Object.entries(root))
  for (const [name, value] of Object.entries(change)) {
    const old = changed[name]
    changed[name] = isBranch(value) && isBranch(old) ? withChange(old, value) : value
  }
  return changed as T
}

/** Splits a change into what `other` changes too, to another value, and the rest. */
function split(
  change: Branch,
  other: Branch,
  now: unknown,
): { readonly both: Branch; readonly rest: Branch } {
  const both: Record<string, unknown> = {}
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(change)) {
    const theirs = isBranch(now) ? now[name] : undefined
    const changed = other[name]
    if (!(name in other) || isSame(theirs, value)) rest[name] = value
    else if (isBranch(value) && isBranch(changed) && isBranch(theirs)) {
      const parts = split(value, changed, theirs)
      if (Object.keys(parts.both).length > 0) both[name] = parts.both
      if (Object.keys(parts.rest).length > 0) rest[name] = parts.rest
    } else both[name] = value
  }
  return { both, rest }
}

/** The drafts that follow when another user saved the agent while it was edited. */
export interface Rebased {
  /** Values that both changed: theirs and mine. Empty if the changes do not touch each other. */
  readonly clashes: readonly Difference[]
  /** Their draft with all of my changes. */
  readonly mine: Draft
  /** Their draft with those of my changes that touch none of theirs. */
  readonly theirs: Draft
}

/** Applies the change from `base` to `edited` to a draft that another user made of `base` meanwhile. */
export function rebase(base: Draft, edited: unknown, newest: Draft): Rebased {
  const change = patchOf(base, edited)
  // The first part also names what they took away.
  const other = withChange(patchOf(newest, base), patchOf(base, newest))
  const { both, rest } = split(change, other, newest)
  const theirs = withChange(newest, rest)
  const mine = withChange(theirs, both)
  return { clashes: differences(theirs, mine), mine, theirs }
}

/** A path as the service names faulty fields: `tools[0].http.url`. */
const steps = (path: string): readonly string[] => path.split(/[.[\]]+/).filter((step) => step !== '')

/** Returns what stands at a path. */
export function valueAt(root: unknown, path: string): unknown {
  return steps(path).reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    root,
  )
}

/** Returns a copy with another value at a path. */
export function withValue<T>(root: T, path: string, value: unknown): T {
  const put = (node: unknown, [step, ...rest]: readonly string[]): unknown => {
    if (step === undefined) return value
    if (Array.isArray(node)) {
      return node.map((item, index) => (index === Number(step) ? put(item, rest) : item))
    }
    const branch = isBranch(node) ? node : {}
    return { ...branch, [step]: put(branch[step], rest) }
  }
  return put(root, steps(path)) as T
}

/** A value of one configuration that another one has differently, with its path. Null: it is absent. */
export interface Difference {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

/** Compares two configurations value by value. Entries of lists are told by their name or id, where they have one. */
export function differences(before: unknown, after: unknown): readonly Difference[] {
  const a = leaves(before)
  const b = leaves(after)
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((path) => ({ path, before: a.get(path) ?? null, after: b.get(path) ?? null }))
    .filter((found) => found.before !== found.after)
}

const NAMES = ['name', 'destinationId', 'id'] as const

function leaves(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(value) && value.some(isBranch)) {
    value.forEach((item, index) => {
      const name = NAMES.map((field) => valueAt(item, field)).find((text) => typeof text === 'string')
      leaves(item, `${path}[${name ?? index}]`, found)
    })
  } else if (isBranch(value)) {
    for (const [name, part] of Object.entries(value)) {
      leaves(part, path === '' ? name : `${path}.${name}`, found)
    }
  } else if (Array.isArray(value)) {
    if (value.length > 0) found.set(path, value.join(', '))
  } else if (value !== null && value !== undefined && value !== '') found.set(path, String(value))
  return found
}

/** Returns the line on which a path stands in formatted JSON, the first being 1. A missing field has the line of its parent. */
export function lineOf(root: unknown, path: string): number {
  const all = steps(path)
  for (let length = all.length; length > 0; length--) {
    const part = all.slice(0, length).join('.')
    if (valueAt(root, part) === undefined) continue
    const mark = crypto.getRandomValues(new Uint32Array(4)).join('-')
    const marked = JSON.stringify(withValue(root, part, mark), null, 2)
    return marked.slice(0, marked.indexOf(mark)).split('\n').length
  }
  return 1
}

const PLACEHOLDER = /\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,49})\s*\}\}/g

/** Variables that every call has without a declaration (docs/agents.md). */
const BUILT_IN: readonly string[] = [
  ...['agentName', 'businessName', 'callerNumber', 'calledNumber'],
  ...['direction', 'currentDate', 'currentDay', 'currentTime'],
]

/** Splits a text at its variables. `known`: the agent declares it, or every call has it. */
export function variablesIn(text: string, { inputVariables }: Pick<Draft, 'inputVariables'>) {
  const declared = new Set([...BUILT_IN, ...inputVariables.map(({ name }) => name)])
  const parts: { readonly text: string; readonly name: string | null; readonly known: boolean }[] = []
  let from = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    const name = match[1] ?? ''
    parts.push({ text: text.slice(from, match.index), name: null, known: true })
    parts.push({ text: match[0], name, known: declared.has(name) })
    from = match.index + match[0].length
  }
  parts.push({ text: text.slice(from), name: null, known: true })
  return parts
}

/** Returns the names of the variables that the agent uses and that have no source. */
export function undeclared(draft: Draft): readonly string[] {
  const { systemPrompt, callSettings, tools } = draft
  // Quotes and line breaks are escaped in JSON; variables have neither.
  const all = variablesIn(JSON.stringify([systemPrompt, callSettings, tools]), draft)
  return [...new Set(all.flatMap(({ name, known }) => (name === null || known ? [] : [name])))]
}

/** Letters that make about one token: models split Latin text more coarsely than that of Indian scripts. */
const LATIN_LETTERS = 4
const OTHER_LETTERS = 1.5

/** Estimates how many tokens a model counts in a text. */
export function tokensOf(text: string): number {
  const others = [...text].filter((letter) => letter > '\u024f').length
  return Math.ceil((text.length - others) / LATIN_LETTERS + others / OTHER_LETTERS)
}
