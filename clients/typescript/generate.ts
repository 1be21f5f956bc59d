/*
 * Generates the client's types and methods from the OpenAPI document of the service. Knows the subset of
 * JSON Schema the document uses, and throws on anything else rather than guess.
 */

type Node = Readonly<Record<string, unknown>>

/** The files of `generated/`, by name. The same document gives the same text. */
export function generateClient(document: Node): Readonly<Record<string, string>> {
  const operations = readOperations(document)
  return {
    'types.ts': typesFile(document, operations),
    'api.ts': apiFile(operations),
    'event-types.ts': eventTypesFile(operations),
  }
}

const HEAD = '// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.\n\n'

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string | null
  readonly scope: string | null
  readonly pathParameters: readonly string[]
  readonly query: readonly { readonly name: string; readonly required: boolean; readonly schema: Node }[]
  readonly body: { readonly schema: Node; readonly required: boolean } | null
  /** Media types of a body that is not JSON. */
  readonly upload: readonly string[] | null
  readonly idempotent: boolean
  readonly keyRequired: boolean
  readonly reply: 'data' | 'list' | 'bare' | 'empty' | 'file' | 'events'
  readonly result: Node | null
  /** Schema of the data of each event of a stream. */
  readonly events: Node | null
  /** Schema of an entry of `meta.warnings`. */
  readonly warning: Node | null
}

function readOperations(document: Node): Operation[] {
  return Object.entries(node(document.paths)).flatMap(([path, methods]) =>
    Object.entries(node(methods)).map(([method, value]) => readOperation(path, method, node(value))),
  )
}

function readOperation(path: string, method: string, operation: Node): Operation {
  const parameters = nodes(operation.parameters)
  const idempotency = parameters.find(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey')
  const body = operation.requestBody === undefined ? null : node(operation.requestBody)
  const taken = body === null ? {} : node(body.content)
  const bodyJson = taken['application/json']
  const [success] = Object.entries(node(operation.responses)).filter(([status]) => status.startsWith('2'))
  const content = success === undefined ? undefined : node(success[1]).content
  const json = content === undefined ? undefined : node(content)['application/json']
  const schema = json === undefined ? null : node(node(json).schema)
  const stream = content === undefined ? undefined : node(content)['text/event-stream']
  const events = stream === undefined ? null : node(node(stream)['x-events'])
  const { reply, result, warning } = readReply(content !== undefined, schema)
  return {
    id: text(operation.operationId),
    method,
    path,
    summary: text(operation.summary),
    description: operation.description === undefined ? null : text(operation.description),
    scope: operation['x-scope'] === undefined ? null : text(operation['x-scope']),
    pathParameters: parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => text(name)),
    query: parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, required, schema: of }) => ({
        name: text(name),
        required: required === true,
        schema: node(of),
      })),
    body:
      body === null || bodyJson === undefined
        ? null
        : { schema: node(node(bodyJson).schema), required: body.required === true },
    upload: body === null || bodyJson !== undefined ? null : Object.keys(taken),
    idempotent: idempotency !== undefined,
    keyRequired: idempotency?.description === 'Required here',
    reply: events === null ? reply : 'events',
    result,
    events,
    warning,
  }
}

function readReply(
  hasContent: boolean,
  schema: Node | null,
): Pick<Operation, 'reply' | 'result' | 'warning'> {
  if (!hasContent) return { reply: 'empty', result: null, warning: null }
  if (schema === null) return { reply: 'file', result: null, warning: null }
  const properties = schema.properties === undefined ? {} : node(schema.properties)
  const { data } = properties
  if (data === undefined) return { reply: 'bare', result: schema, warning: null }
  const meta = properties.meta === undefined ? {} : node(node(properties.meta).properties)
  const warning = meta.warnings === undefined ? null : node(node(meta.warnings).items)
  if (meta.pagination === undefined) return { reply: 'data', result: node(data), warning }
  return { reply: 'list', result: node(node(data).items), warning }
}

// ---- event types

/** The types of events as a list: what `createWebhook` accepts. Documents without this operation have none. */
function eventTypesFile(operations: readonly Operation[]): string {
  const body = operations.find(({ id }) => id === 'createWebhook')?.body ?? null
  const types = body === null ? [] : strings(node(node(node(node(body.schema).properties).events).items).enum)
  return `${HEAD}/** Types of events that a webhook endpoint can receive. */
export const EVENT_TYPES = [
${types.map((type) => `  '${type}',\n`).join('')}] as const

export type EventType = (typeof EVENT_TYPES)[number]
`
}

// ---- types

function typesFile(document: Node, operations: readonly Operation[]): string {
  const components = node(document.components)
  const error = node(node(node(node(components.schemas).Error).properties).error)
  const codes = node(node(error.properties).code)['x-known-values']
  const types = node(node(error.properties).type)['x-known-values']
  let out = `${HEAD}/** A value of an open set: the known ones, and any the service adds later. */
export type Open<Known extends string> = Known | (string & Record<never, never>)

export type ErrorCode = Open<${union(codes)}>
export type ErrorType = Open<${union(types)}>
`
  for (const [name, schema] of Object.entries(node(components.schemas))) {
    if (name !== 'Error') out += `\nexport type ${name} = ${typeOf(node(schema), '')}\n`
  }
  for (const operation of operations) {
    if (operation.body !== null) {
      out += `\n/** Body of \`${operation.id}\`. */\nexport type ${upper(operation.id)}Body = ${typeOf(operation.body.schema, '')}\n`
    }
    if (operation.query.length > 0) {
      const members = operation.query.map(
        ({ name, required, schema }) =>
          `  readonly ${key(name)}${required ? '' : '?'}: ${typeOf(schema, '  ')}${required ? '' : ' | undefined'}\n`,
      )
      out += `\n/** Query of \`${operation.id}\`. */\nexport type ${upper(operation.id)}Query = {\n${members.join('')}}\n`
    }
  }
  return out + webhookTypes(node(document.webhooks))
}

function webhookTypes(webhooks: Node): string {
  const members = Object.entries(webhooks).map(([type, value]) => {
    const body = node(node(value).post).requestBody
    const schema = node(node(node(node(body).content)['application/json']).schema)
    const data = typeOf(node(node(schema.properties).data), '    ')
    return `  ${key(type)}: ${data}\n`
  })
  return `
/** The \`data\` of an event, by the type of the event. */
export type EventData = {
${members.join('')}}
`
}

/** TypeScript of a JSON schema; `indent` is that of the line it stands on. */
function typeOf(schema: Node, indent: string): string {
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? 'unknown'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return union(schema.enum)
  const variants = schema.anyOf ?? schema.oneOf
  if (Array.isArray(variants))
    return joined(
      variants.map((variant) => typeOf(node(variant), indent)),
      ' | ',
    )
  if (Array.isArray(schema.allOf))
    return joined(
      schema.allOf.map((part) => typeOf(node(part), indent)),
      ' & ',
    )
  if (Array.isArray(schema.type)) {
    return joined(
      schema.type.map((type) => typeOf({ ...schema, type }, indent)),
      ' | ',
    )
  }
  switch (schema.type) {
    case 'string':
      return Array.isArray(schema['x-known-values']) ? `Open<${union(schema['x-known-values'])}>` : 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return `readonly (${schema.items === undefined ? 'unknown' : typeOf(node(schema.items), indent)})[]`
    case 'object':
      return objectType(schema, indent)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`no TypeScript for ${JSON.stringify(schema).slice(0, 200)}`)
  }
}

function objectType(schema: Node, indent: string): string {
  if (schema.properties === undefined) {
    const { additionalProperties } = schema
    if (additionalProperties === undefined || typeof additionalProperties === 'boolean') {
      return 'Readonly<Record<string, unknown>>'
    }
    return `Readonly<Record<string, ${typeOf(node(additionalProperties), indent)}>>`
  }
  const required = Array.isArray(schema.required) ? schema.required : []
  const inner = `${indent}  `
  const members = Object.entries(node(schema.properties)).map(([name, value]) => {
    const member = node(value)
    const optional = !required.includes(name)
    const doc =
      typeof member.description === 'string'
        ? `${inner}/** ${member.description.replaceAll('*/', '* /')} */\n`
        : ''
    return `${doc}${inner}readonly ${key(name)}${optional ? '?' : ''}: ${typeOf(member, inner)}${optional ? ' | undefined' : ''}\n`
  })
  return members.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${members.join('')}${indent}}`
}

// ---- methods

function apiFile(operations: readonly Operation[]): string {
  const used = new Set<string>()
  const methods = operations.map((operation) => methodOf(operation, used)).join('\n')
  const names = [...used].sort()
  const upload = operations.some((operation) => operation.upload !== null) ? ', type UploadBody' : ''
  const streams = operations.some((operation) => operation.events !== null)
    ? "import type { EventStream } from '../event-stream.js'\n"
    : ''
  return `${HEAD}${streams}import { HttpClient, type Page, type RequestOptions${upload} } from '../http-client.js'
import type {
${names.map((name) => `  ${name},\n`).join('')}} from './types.js'

/** Every operation of the API as a method. */
export class Api extends HttpClient {
${methods}}
`
}

function methodOf(operation: Operation, used: Set<string>): string {
  const name = upper(operation.id)
  const members: string[] = operation.pathParameters.map((parameter) => `readonly ${parameter}: string`)
  let needed = members.length > 0
  if (operation.query.length > 0) {
    used.add(`${name}Query`)
    const required = operation.query.some((parameter) => parameter.required)
    members.push(`readonly query${required ? '' : '?'}: ${name}Query${required ? '' : ' | undefined'}`)
    needed ||= required
  }
  if (operation.body !== null) {
    used.add(`${name}Body`)
    const { required } = operation.body
    members.push(`readonly body${required ? '' : '?'}: ${name}Body${required ? '' : ' | undefined'}`)
    needed ||= required
  }
  if (operation.upload !== null) {
    members.push('readonly body: UploadBody', `readonly contentType: ${union(operation.upload)}`)
    needed = true
  }
  const input = members.length === 0 ? '' : `input: { ${members.join('; ')} }${needed ? '' : ' = {}'}, `
  const result = resultOf(operation, used)
  const spec = [
    `method: '${operation.method.toUpperCase()}'`,
    `path: '${operation.path}'`,
    `reply: '${operation.reply}'`,
    ...(operation.idempotent ? ['idempotent: true'] : []),
    ...(operation.upload === null ? [] : ['upload: true']),
    ...(operation.warning === null ? [] : ['warnings: true']),
  ].join(', ')
  const scope = operation.scope === null ? '' : ` Needs the scope \`${operation.scope}\`.`
  const description = operation.description === null ? '' : ` ${operation.description}`
  return `  /** ${operation.summary}.${description}${scope} */
  ${operation.id}(${input}options: RequestOptions = {}): Promise<${result}> {
    return this.send({ ${spec} }, ${members.length === 0 ? '{}' : 'input'}, options)
  }
`
}

function resultOf({ reply, result, warning, events }: Operation, used: Set<string>): string {
  if (reply === 'empty') return 'void'
  if (events !== null) {
    const types = Object.entries(events).map(
      ([name, schema]) =>
        `{ readonly event: ${JSON.stringify(name)}; readonly data: ${usedType(node(schema), used)} }`,
    )
    return `EventStream<${types.join(' | ')}>`
  }
  if (reply === 'file' || result === null) return 'Response'
  const type = usedType(result, used)
  const warnings = warning === null ? null : usedType(warning, used)
  if (reply === 'list') return warnings === null ? `Page<${type}>` : `Page<${type}, ${warnings}>`
  return warnings === null ? type : `{ readonly data: ${type}; readonly warnings: readonly (${warnings})[] }`
}

function usedType(schema: Node, used: Set<string>): string {
  const type = typeOf(schema, '  ')
  for (const name of type.match(/\b[A-Z]\w+\b/g) ?? []) {
    if (!['Readonly', 'Record', 'Open'].includes(name) && !/["']/.test(type)) used.add(name)
    if (name === 'Open' && /\bOpen</.test(type)) used.add('Open')
  }
  return type
}

// ---- helpers

function joined(parts: readonly string[], by: string): string {
  return [...new Set(parts)].join(by)
}

function union(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(' | ') : 'never'
}

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
const upper = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

function node(value: unknown): Node {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`expected an object, found ${JSON.stringify(value)}`)
  }
  return value as Node
}

const nodes = (value: unknown): Node[] => (Array.isArray(value) ? value.map(node) : [])

function strings(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error(`expected a list, found ${JSON.stringify(value)}`)
  return value.map(text)
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`expected text, found ${JSON.stringify(value)}`)
  return value
}
