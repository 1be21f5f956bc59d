import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { DndRegister, RegisterAnswer, RegisterQuestion } from '../../api/dnd-register.js'
import type { DndServiceSetting, PLACEHOLDERS } from '../../config/dnd-file.js'
import { memberOf, sendOnce, succeeded } from '../../net/send-once.js'

/** Questions that are on their way at once. A further one is `unknown`. */
const MAX_WAITING = 64
/** Failures in a row after which the service rests. */
const FAILURES = 5
/** Time that it rests (ms). Questions are `unknown` meanwhile. */
const REST_MS = 30_000
const TEXT_MAX = 200

const UNKNOWN = { state: 'unknown' } as const

type Placeholder = (typeof PLACEHOLDERS)[number]
type Values = Readonly<Record<Placeholder, string>>

/**
 * Asks a service about one number per request, as its file describes. The answer is unknown unless it has a status of
 * success, one of the expected words, and the number that was asked about where the file says that it has one.
 */
export function httpRegister(setting: DndServiceSetting, clock: Pick<Clock, 'wall'>, log: Log): DndRegister {
  const { name, request, feePaise, timeoutMs } = setting
  let waiting = 0
  let failures = 0
  let restsUntil = 0

  async function ask(values: Values): Promise<RegisterAnswer> {
    const { method, url, headers, body } = request
    const answer = await sendOnce({
      method,
      url: filled(url, values, encodeURIComponent),
      headers,
      ...(body === undefined ? {} : { json: filledJson(body, values) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (answer === null || !succeeded(answer)) {
      log.warn({ register: name, status: answer?.status ?? null }, 'dnd.failed')
      return UNKNOWN
    }
    const read = readAnswer(setting, answer.body, values)
    if (read === null) log.warn({ register: name }, 'dnd.unreadable')
    return read ?? UNKNOWN
  }

  return {
    name,
    feePaise,
    async lookUp({ e164, purpose, peId }: RegisterQuestion) {
      if (waiting >= MAX_WAITING || clock.wall() < restsUntil) return UNKNOWN
      if (peId === null && JSON.stringify(request).includes('{peId}')) return UNKNOWN
      const values = { e164, national: e164.replace(/^\+91/, ''), purpose, peId: peId ?? '' }
      waiting++
      try {
        const answer = await ask(values)
        failures = answer.state === 'unknown' ? failures + 1 : 0
        if (failures >= FAILURES) {
          failures = 0
          restsUntil = clock.wall() + REST_MS
        }
        return answer
      } finally {
        waiting--
      }
    },
  }
}

/** Returns null when the answer is not one that the file describes. */
function readAnswer(
  { answer }: DndServiceSetting,
  body: unknown,
  { national }: Values,
): RegisterAnswer | null {
  const word = valueAt(body, answer.state)
  const has = (words: readonly unknown[]) => words.includes(word)
  if (!has(answer.listed) && !has(answer.notListed)) return null
  if (answer.number !== undefined) {
    const number = String(valueAt(body, answer.number)).replace(/\D/g, '')
    if (!number.endsWith(national)) return null
  }
  const validUntil = timeOf(answer.validUntil === undefined ? undefined : valueAt(body, answer.validUntil))
  return {
    state: has(answer.listed) ? 'listed' : 'not_listed',
    category: textAt(body, answer.category),
    reference: textAt(body, answer.reference),
    validUntil,
  }
}

function valueAt(body: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (Array.isArray(value) ? value[Number(name)] : memberOf(value, name)), body)
}

function textAt(body: unknown, path: string | undefined): string | null {
  const value = path === undefined ? undefined : valueAt(body, path)
  if (typeof value !== 'string' && typeof value !== 'number') return null
  return String(value).replace(/\p{C}/gu, ' ').slice(0, TEXT_MAX)
}

/** Returns the Unix ms of a time with its zone, or null. */
function timeOf(value: unknown): number | null {
  if (typeof value !== 'string' || !/(?:Z|[+-]\d{2}:?\d{2})$/.test(value)) return null
  const time = Date.parse(value)
  return Number.isNaN(time) ? null : time
}

function filled(template: string, values: Values, encode: (value: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_, name: Placeholder) => encode(values[name]))
}

function filledJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return filled(value, values, (text) => text)
  if (Array.isArray(value)) return value.map((item) => filledJson(item, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filledJson(inner, values)]))
}
