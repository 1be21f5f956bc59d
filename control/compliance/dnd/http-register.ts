import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { DndRegister, RegisterAnswer, RegisterQuestion } from '../../api/dnd-register.js'
import { readXml } from '../../base/xml.js'
import { type DndServiceSetting, isRepeated, type PLACEHOLDERS } from '../../config/dnd-file.js'
import { memberOf, sendOnce, succeeded } from '../../net/send-once.js'

/** Questions that are on their way at once. The numbers of a further one are unknown. */
const MAX_WAITING = 64
/** Failures in a row after which the service rests. */
const FAILURES = 5
/** Time that it rests (ms). Numbers are unknown meanwhile. */
const REST_MS = 30_000
const TEXT_MAX = 200

type Answers = ReadonlyMap<string, RegisterAnswer>
const UNKNOWN: Answers = new Map()

type Placeholder = (typeof PLACEHOLDERS)[number]
type Values = Readonly<Record<Placeholder, string>>

const XML = { accept: 'application/xml, text/xml' }

/**
 * Asks a service about one number or several per request, as its file describes. A number is unknown unless the answer has
 * a status of success, one of the expected words about the number, and the number itself where the file says that it has
 * one.
 */
export function httpRegister(setting: DndServiceSetting, clock: Pick<Clock, 'wall'>, log: Log): DndRegister {
  const { name, request, answer: form, feePaise, maxNumbers, timeoutMs } = setting
  let waiting = 0
  let failures = 0
  let restsUntil = 0

  async function ask(numbers: readonly Values[]): Promise<Answers> {
    const { method, url, headers, body } = request
    const [first] = numbers
    if (first === undefined) return UNKNOWN
    const answer = await sendOnce({
      method,
      url: filled(url, first, encodeURIComponent),
      headers: form.format === 'xml' ? { ...XML, ...headers } : headers,
      ...(body === undefined ? {} : { json: filledJson(body, first, numbers) }),
      ...(form.format === 'xml' ? { read: readXml } : {}),
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (answer === null || !succeeded(answer)) {
      log.warn({ register: name, status: answer?.status ?? null }, 'dnd.failed')
      return UNKNOWN
    }
    const read = readAnswers(setting, answer.body, numbers)
    if (read.size < numbers.length)
      log.warn({ register: name, asked: numbers.length, answered: read.size }, 'dnd.unreadable')
    return read
  }

  return {
    name,
    feePaise,
    maxNumbers,
    async lookUp({ e164s, purpose, peId }: RegisterQuestion) {
      if (waiting >= MAX_WAITING || clock.wall() < restsUntil) return UNKNOWN
      if (peId === null && JSON.stringify(request).includes('{peId}')) return UNKNOWN
      const numbers = e164s.map((e164) => ({
        ...{ e164, national: e164.replace(/^\+91/, ''), purpose, peId: peId ?? '' },
      }))
      waiting++
      try {
        const answers = await ask(numbers)
        failures = answers.size === 0 ? failures + 1 : 0
        if (failures >= FAILURES) {
          failures = 0
          restsUntil = clock.wall() + REST_MS
        }
        return answers
      } finally {
        waiting--
      }
    },
  }
}

/** Returns the answers that are as the file describes them, about numbers that were asked about. */
function readAnswers({ answer }: DndServiceSetting, body: unknown, numbers: readonly Values[]): Answers {
  if (answer.results === undefined) {
    const [first] = numbers
    const read = first === undefined ? null : readRow(answer, body, body)
    if (first === undefined || read === null) return UNKNOWN
    return read.number === null || read.number.endsWith(first.national)
      ? new Map([[first.e164, read.answer]])
      : UNKNOWN
  }
  const found = valueAt(body, answer.results)
  // In XML a single row is no array.
  const rows: readonly unknown[] = Array.isArray(found) ? found : [found]
  const asked = new Map(numbers.map(({ national, e164 }) => [national, e164]))
  const answers = new Map<string, RegisterAnswer>()
  for (const row of rows) {
    const read = readRow(answer, row, body)
    const e164 = asked.get(read?.number?.slice(-10) ?? '')
    if (read === null || e164 === undefined) continue
    // A number that occurs twice is listed if one of its rows says so.
    if (answers.get(e164)?.state !== 'listed') answers.set(e164, read.answer)
  }
  return answers
}

/** Reads what `row` says. The reference and the end of the answer belong to the whole. Null without an expected word. */
function readRow(
  form: DndServiceSetting['answer'],
  row: unknown,
  whole: unknown,
): { readonly number: string | null; readonly answer: RegisterAnswer } | null {
  const word = valueAt(row, form.state)
  const has = (words: readonly unknown[]) => words.includes(word)
  if (!has(form.listed) && !has(form.notListed)) return null
  return {
    number: form.number === undefined ? null : String(valueAt(row, form.number)).replace(/\D/g, ''),
    answer: {
      state: has(form.listed) ? 'listed' : 'not_listed',
      category: textAt(row, form.category),
      reference: textAt(whole, form.reference),
      validUntil: timeOf(form.validUntil === undefined ? undefined : valueAt(whole, form.validUntil)),
    },
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

/** Fills the texts of a body with the first number, and repeats the only element of an array that names a number. */
function filledJson(value: unknown, first: Values, numbers: readonly Values[]): unknown {
  if (typeof value === 'string') return filled(value, first, (text) => text)
  if (isRepeated(value)) return numbers.map((number) => filledJson(value[0], number, [number]))
  if (Array.isArray(value)) return value.map((item) => filledJson(item, first, numbers))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, filledJson(inner, first, numbers)]),
  )
}
