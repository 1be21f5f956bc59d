type JsonObject = Readonly<Record<string, unknown>>

/** ULID in all example ids. */
export const EXAMPLE_ULID = '01JZ0000000000000000000000'

/** Example values by field name. */
const BY_NAME: readonly (readonly [name: RegExp, value: unknown])[] = [
  [/^(e164|to|phone|recipient)$/i, '+919876543210'],
  [/^(from|number|callerId)$/i, '+918041234567'],
  [/email$/i, 'asha@example.com'],
  [/password$/i, 'correct horse battery'],
  [/^(url|webhookUrl)$/i, 'https://example.com/hooks/parley'],
  [/(url|uri|recording|transcript|self|doc_url)$/i, 'https://parley.example.com/v1/calls'],
  [/^gstin$/i, '29AAGCB7383J1Z4'],
  [/^pan$/i, 'AAGCB7383J'],
  [/^pincode$/i, '560001'],
  [/^stateCode$/i, '29'],
  [/^city$/i, 'Bengaluru'],
  [/address$/i, '12 MG Road'],
  [/^label$/i, 'Front desk'],
  [/^purpose$/i, 'transactional'],
  [/^endedReason$/, 'caller_hangup'],
  [/^summary$/, 'The caller asked to move the appointment to Friday.'],
  [/^mapKey$/, 'clinic'],
  [/^mapValue$/, 'Smile Dental Clinic'],
  [/^(legal|business|organization)Name$/i, 'Smile Dental Clinic'],
  [/name$/i, 'Front desk'],
  [/(language|languages)$/i, 'en-IN'],
  [/^(key)$/i, 'front_desk'],
  [/^(host)$/i, 'sip.example.com'],
  [/^(cidr|ipAcl)$/i, '203.0.113.0/28'],
  [/sha256|hash$/i, '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  [/(prompt|systemPrompt)$/i, 'You are the receptionist of Smile Dental Clinic.'],
  [/(reason|note|message|description)$/i, 'Asked for by the customer'],
  [/token$/i, 'dGhpcyBpcyBhbiBleGFtcGxl'],
  [/code$/i, '123456'],
  [/reference$/i, 'REF-2026-0042'],
]

/** Id prefixes by field name. */
const ID_PREFIX: Readonly<Record<string, string>> = {
  agent: 'agt',
  agentVersion: 'agv',
  number: 'num',
  call: 'call',
  endpoint: 'whe',
  event: 'evt',
  delivery: 'whd',
  secret: 'sec',
  authSecret: 'sec',
  connection: 'cxn',
  user: 'usr',
  organization: 'org',
  complianceRun: 'run',
  run: 'run',
  gateRun: 'run',
  evidence: 'evd',
  campaign: 'cmp',
  recipient: 'rcp',
  destination: 'tdst',
  key: 'key',
  knowledgeBase: 'kb',
}

/** Candidates for a pattern or format, tried in order. */
const CANDIDATES = [
  '+919876543210',
  '2026-11-20T10:00:00.000Z',
  '2026-11-20',
  '09:00',
  '29AAGCB7383J1Z4',
  'AAGCB7383J',
  '560001',
  '29',
  '1101234567890123456',
  '5',
  'front_desk',
  'en-IN',
  'Smile Dental Clinic',
  'SMILEDC',
  'asha@example.com',
  'https://example.com/hooks/parley',
  '203.0.113.0/28',
  'mon-fri',
  'a'.repeat(32),
]

/**
 * Returns a realistic example of a JSON schema of this service, chosen by `name`. The result is
 * deterministic. Examples that these rules cannot create are in example-bodies.ts.
 */
export function exampleOf(schema: JsonObject, name: string, idPrefix?: string): unknown {
  const given = schema.example ?? first(schema.examples)
  // Fields that are usually null are shown as null.
  if (/error$/i.test(name) && isNullable(schema)) return null
  if (given !== undefined) return given
  if (schema.const !== undefined) return schema.const
  const variants = schema.anyOf ?? schema.oneOf
  if (Array.isArray(variants)) return exampleOf(fullest(variants), name, idPrefix)
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.map((part) => exampleOf(part, name, idPrefix))
    return parts.every(isObject) ? Object.assign({}, ...parts) : parts[0]
  }
  const known = first(schema.enum) ?? first(schema['x-known-values'])
  if (known !== undefined) return known
  switch (typeOf(schema)) {
    case 'object':
      return objectExample(schema, idPrefix)
    case 'array': {
      const items = isObject(schema.items) ? schema.items : {}
      return [exampleOf(items, name.replace(/s$/, ''), idPrefix)]
    }
    case 'integer':
    case 'number':
      return numberExample(schema, name)
    case 'boolean':
      return schema.default ?? true
    case 'null':
      return null
    case 'string':
      return textExample(schema, name, idPrefix)
    default:
      return 'anything'
  }
}

/** Returns an example of a request body: the required fields, or one field if none is required. */
export function bodyExample(schema: JsonObject): unknown {
  if (typeOf(schema) !== 'object' || !isObject(schema.properties)) return exampleOf(schema, 'body')
  const required = Array.isArray(schema.required) ? schema.required : []
  const shown = required.length > 0 ? required : Object.keys(schema.properties).slice(0, 1)
  const properties = schema.properties
  return Object.fromEntries(
    shown.flatMap((name) => {
      const member = properties[name]
      return isObject(member) ? [[name, requiredOnly(member, name)]] : []
    }),
  )
}

/** Like `exampleOf`, with only the required fields of objects. */
function requiredOnly(schema: JsonObject, name: string): unknown {
  const plain = schema.examples === undefined && typeOf(schema) === 'object' && isObject(schema.properties)
  return plain ? bodyExample(schema) : exampleOf(schema, name)
}

function objectExample(schema: JsonObject, idPrefix: string | undefined): unknown {
  if (isObject(schema.properties)) {
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, member]) => [
        name,
        isObject(member) ? exampleOf(member, name, name === 'id' ? idPrefix : undefined) : null,
      ]),
    )
  }
  if (!isObject(schema.additionalProperties)) return {}
  const key = isObject(schema.propertyNames) ? exampleOf(schema.propertyNames, 'mapKey') : 'clinic'
  return { [typeof key === 'string' ? key : 'clinic']: exampleOf(schema.additionalProperties, 'mapValue') }
}

function numberExample(schema: JsonObject, name: string): unknown {
  if (schema.default !== undefined) return schema.default
  const at = (key: string, otherwise: number) =>
    typeof schema[key] === 'number' ? Number(schema[key]) : otherwise
  const wanted = /rate.{0,100}paise/i.test(name)
    ? 500
    : /paise/i.test(name)
      ? 50_000
      : /seconds/i.test(name)
        ? 42
        : /port$/i.test(name)
          ? 5061
          : 1
  const minimum = Math.max(at('minimum', -Infinity), at('exclusiveMinimum', -Infinity) + 1)
  return Math.min(Math.max(wanted, minimum), at('maximum', Infinity))
}

function textExample(schema: JsonObject, name: string, idPrefix: string | undefined): string {
  if (schema.format === 'date-time') return '2026-11-20T10:00:00.000Z'
  if (name === 'id' && idPrefix !== undefined) return `${idPrefix}_${EXAMPLE_ULID}`
  const owner = /^(\w+?)Ids?$/.exec(name)?.[1]
  const prefix = owner === undefined ? undefined : ID_PREFIX[owner]
  const byName = BY_NAME.filter(([pattern]) => pattern.test(name)).map(([, value]) => value)
  const wanted = [
    ...(prefix === undefined ? [] : [`${prefix}_${EXAMPLE_ULID}`]),
    ...byName.filter((value) => typeof value === 'string'),
    ...(schema.pattern === undefined && schema.format === undefined ? ['text'] : []),
    ...CANDIDATES,
  ]
  return wanted.find((text) => fits(schema, text)) ?? padded(schema)
}

function fits(schema: JsonObject, text: string): boolean {
  const { pattern, minLength, maxLength, format } = schema
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)) return false
  if (typeof minLength === 'number' && text.length < minLength) return false
  if (typeof maxLength === 'number' && text.length > maxLength) return false
  if (format === 'uri') return text.startsWith('https://')
  if (format === 'email') return text.includes('@')
  return true
}

function padded(schema: JsonObject): string {
  const { minLength, maxLength } = schema
  const long = 'text'.padEnd(typeof minLength === 'number' ? minLength : 0, ' text')
  return typeof maxLength === 'number' ? long.slice(0, maxLength) : long
}

/** Returns the variant that shows most: not null, objects before text. */
function fullest(variants: readonly unknown[]): JsonObject {
  const objects = variants.filter(isObject).filter((variant) => variant.type !== 'null')
  return objects.find((variant) => isObject(variant.properties)) ?? objects[0] ?? { type: 'null' }
}

function typeOf(schema: JsonObject): unknown {
  if (Array.isArray(schema.type)) return schema.type.find((type) => type !== 'null') ?? 'null'
  return schema.type ?? (isObject(schema.properties) ? 'object' : undefined)
}

function isNullable({ type, anyOf }: JsonObject): boolean {
  if (Array.isArray(type)) return type.includes('null')
  return Array.isArray(anyOf) && anyOf.some((variant) => isObject(variant) && variant.type === 'null')
}

const first = (values: unknown): unknown => (Array.isArray(values) ? values[0] : undefined)

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
