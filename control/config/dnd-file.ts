import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { Variable } from '../../media/vendors/vendor-module.js'
import { invalid, type Parsed, valid } from './parsers.js'

/*
 * Format of PARLEY_DND_FILE: a service that answers for the DND register over HTTP. See docs/compliance.md.
 */

export const DND_VARIABLES = [
  {
    name: 'PARLEY_DND_FILE',
    default: '',
    description:
      'JSON file with the service that is asked about the DND register over HTTP (docs/compliance.md); empty asks scrub files only',
  },
] as const satisfies readonly Variable[]

/** Names in braces that a request may contain. */
export const PLACEHOLDERS = ['e164', 'national', 'purpose', 'peId'] as const

const Template = z
  .string()
  .max(4096)
  .refine(
    (text) =>
      [...text.matchAll(/\{([A-Za-z]\w*)\}/g)].every(([, name]) =>
        PLACEHOLDERS.some((known) => known === name),
      ),
    `has an unknown placeholder; known are ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
  )

/** Members of a JSON value from the outside to the inside, for example `results.0.status`. */
const Path = z
  .string()
  .regex(/^[^.]{1,80}(\.[^.]{1,80}){0,7}$/, 'must be names with dots, such as results.0.status')

const NUMBER = /\{(e164|national)\}/

const Words = z
  .array(z.union([z.string().max(80), z.boolean(), z.number()]))
  .min(1)
  .max(20)

const Service = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a lower-case name such as airtel-dlt'),
  request: z
    .strictObject({
      method: z.enum(['GET', 'POST']),
      url: Template.refine(
        (text) => /^https?:\/\/[^/{}]+(\/|\?|$)/.test(text) && URL.canParse(text.replaceAll(/[{}]/g, '')),
        'must be a URL without a placeholder in its host',
      ),
      headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/), z.string().max(4096)).default({}),
      /** JSON of the body. Placeholders stand in its texts. */
      body: z.json().optional(),
    })
    .refine(({ method, body }) => method === 'POST' || body === undefined, {
      message: 'a GET request has no body',
      path: ['body'],
    })
    .refine(({ url, body }) => NUMBER.test(url + JSON.stringify(body ?? '')), {
      message: 'must name the number with {e164} or {national}',
      path: ['url'],
    })
    .refine(({ body }) => Template.safeParse(JSON.stringify(body ?? '').slice(0, 4096)).success, {
      message: 'has an unknown placeholder',
      path: ['body'],
    }),
  answer: z
    .strictObject({
      format: z.enum(['json', 'xml']).default('json'),
      /** The rows of an answer about several numbers. */
      results: Path.optional(),
      state: Path,
      listed: Words,
      notListed: Words,
      number: Path.optional(),
      category: Path.optional(),
      reference: Path.optional(),
      validUntil: Path.optional(),
    })
    .refine(({ listed, notListed }) => !listed.some((word) => notListed.includes(word)), {
      message: 'has a word of listed',
      path: ['notListed'],
    })
    .refine(({ results, number }) => results === undefined || number !== undefined, {
      message: 'is required with results: it tells which number a row is about',
      path: ['number'],
    }),
  /** Numbers that one request may name. */
  maxNumbers: z.int().min(1).max(1000).default(1),
  feePaise: z.int().min(0).max(1000).default(10),
  timeoutMs: z.int().min(100).max(10_000).default(3000),
})

const DndFile = Service.refine(({ maxNumbers, answer }) => maxNumbers === 1 || answer.results !== undefined, {
  message: 'is required when maxNumbers is more than 1',
  path: ['answer', 'results'],
}).refine(({ maxNumbers, request }) => maxNumbers === 1 || repeats(request.body), {
  message: 'must have one array of one element with {e164} or {national} when maxNumbers is more than 1',
  path: ['request', 'body'],
})

/** Returns whether an array of the body names a number in its only element, which a request repeats for each number. */
function repeats(body: unknown): boolean {
  if (isRepeated(body)) return true
  return typeof body === 'object' && body !== null && Object.values(body).some(repeats)
}

/** Returns whether a value is an array whose only element is repeated for each number. */
export function isRepeated(value: unknown): value is readonly [unknown] {
  return Array.isArray(value) && value.length === 1 && NUMBER.test(JSON.stringify(value[0]))
}

/** A service that answers for the DND register. */
export type DndServiceSetting = z.output<typeof DndFile>

/** Returns a parser that reads the file; a relative path is below `base`. */
export function dndFile(base: string): (value: string) => Parsed<DndServiceSetting> {
  return (value) => {
    try {
      const parsed = DndFile.safeParse(JSON.parse(readFileSync(resolve(base, value), 'utf8')))
      if (parsed.success) return valid(parsed.data)
      const [issue] = parsed.error.issues
      return invalid(`correct ${issue?.path.join('.')}: ${issue?.message}`)
    } catch (error) {
      return invalid(errorText(error))
    }
  }
}
