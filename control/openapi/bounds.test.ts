import t from 'tap'
import { operations } from '../app/operations.js'
import { API_VERSION } from '../system/api.js'
import { openApiDocument } from './document.js'
import { WEBHOOKS } from './webhook-events.js'

/* Everything that a request may contain has a bound, and every list of an answer has pages or a stated bound. */

type Schema = Readonly<Record<string, unknown>>

const document = openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS }) as Schema

function resolved(schema: Schema): Schema {
  let found = schema
  while (typeof found.$ref === 'string') {
    const steps = found.$ref.slice(2).split('/')
    found = steps.reduce((at, step) => at[step.replaceAll('~1', '/')] as Schema, document)
  }
  return found
}

function listOf(value: unknown): readonly Schema[] {
  return Array.isArray(value) ? value : []
}

/** Lists the places within a schema of a request that have no bound. */
function unbounded(given: Schema, path: string, above: readonly Schema[] = []): string[] {
  const schema = resolved(given)
  if (above.includes(schema)) return []
  const within = [...above, schema]
  const { type, items, properties = {}, additionalProperties, maxItems, maxProperties } = schema
  const fields = Object.entries(properties as Readonly<Record<string, Schema>>)
  const found: string[] = []
  if (type === 'array' && maxItems === undefined) found.push(`${path}: array without maxItems`)
  if (type === 'object' && additionalProperties !== false && maxProperties === undefined) {
    found.push(`${path}: object with any fields without maxProperties`)
  }
  if (type === 'string' && !hasLength(schema)) found.push(`${path}: string without maxLength`)
  const variants = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => listOf(schema[name]))
  return [
    ...found,
    ...variants.flatMap((variant) => unbounded(variant, path, within)),
    ...(items === undefined ? [] : unbounded(items as Schema, `${path}[]`, within)),
    ...fields.flatMap(([name, field]) => unbounded(field, `${path}.${name}`, within)),
    ...(typeof additionalProperties === 'object' && additionalProperties !== null
      ? unbounded(additionalProperties as Schema, `${path}.*`, within)
      : []),
  ]
}

/** A set of values is short, and an expression from `^` to `$` without `*`, `+` and `{n,}` matches nothing long. */
function hasLength({ maxLength, enum: values, const: value, pattern }: Schema): boolean {
  if (maxLength !== undefined || values !== undefined || value !== undefined) return true
  if (typeof pattern !== 'string' || !pattern.startsWith('^') || !pattern.endsWith('$')) return false
  const plain = pattern.replace(/\\./gsu, 'x').replace(/\[[^\]]*\]/g, 'x')
  return !/[*+]|\{\d+,\}/.test(plain)
}

interface Described {
  readonly operationId: string
  readonly parameters?: readonly Schema[]
  readonly requestBody?: Schema
}

const described = Object.values(document.paths as Readonly<Record<string, Schema>>)
  .flatMap((path) => Object.values(path))
  .filter((one): one is Described => typeof (one as Described).operationId === 'string')

t.test('each list, object and text of a request has a bound', async (t) => {
  t.equal(described.length, operations.length)
  const found = described.flatMap(({ operationId, parameters = [], requestBody }) => {
    const content = (requestBody === undefined ? {} : resolved(requestBody).content) as
      | Readonly<Record<string, Schema>>
      | undefined
    const body = content?.['application/json']?.schema
    return [
      ...parameters.flatMap((given) => {
        const { name, in: place, schema } = resolved(given)
        return unbounded(schema as Schema, `${operationId} ${place}.${name}`)
      }),
      ...(body === undefined ? [] : unbounded(body as Schema, `${operationId} body`)),
    ]
  })
  t.same([...new Set(found)], [])
})

/** Lists of one page, and what bounds them. */
const ONE_PAGE: Readonly<Record<string, string>> = {
  listVoices: 'voices of the catalogue',
  listModels: 'models of the catalogue',
  searchKnowledgeBase: 'the best passages',
  listCallTransfers: 'two attempts of a call',
  listNumberCarriers: 'configured carriers',
  listNumberRegions: 'regions of India',
}

t.test('a list has pages, or a bound of its own', async (t) => {
  const onePage = operations.filter(({ list }) => list !== null && !list.paged).map(({ id }) => id)
  t.same(onePage.toSorted(), Object.keys(ONE_PAGE).toSorted())
})
