/** Facts of an API description on which clients rely. A line is a place, a tab, and what holds at this place. */
export interface ApiFacts {
  /** Lines that every later description must contain. */
  readonly kept: readonly string[]
  /** Lines that a later description must not add for a place that exists. */
  readonly bounded: readonly string[]
}

type Node = Readonly<Record<string, unknown>>

/**
 * Reduces an OpenAPI document to the facts that an additive change preserves: operations, input fields with
 * every type and value they accept, and result fields with their types. A new required input and a new type
 * of a result field are breaking changes although they add a line. These lines are `bounded`.
 */
export function apiFacts(document: Node): ApiFacts {
  const kept = new Set<string>()
  const bounded = new Set<string>()
  const keep = (place: string, fact: string) => kept.add(`${place}\t${fact}`)
  const bound = (place: string, fact: string) => bounded.add(`${place}\t${fact}`)

  const walk = (schema: Node, place: string, input: boolean): void => {
    for (const type of typesOf(schema)) {
      keep(place, type)
      if (!input) bound(place, type)
    }
    for (const value of valuesOf(schema)) keep(place, `= ${JSON.stringify(value)}`)
    const required = listOf(schema.required).map(String)
    for (const [name, member] of Object.entries(nodeOf(schema.properties))) {
      if (input && required.includes(name)) bound(place, `requires ${name}`)
      if (!input) keep(`${place}.${name}`, required.includes(name) ? 'always' : 'sometimes')
      walk(nodeOf(member), `${place}.${name}`, input)
    }
    for (const variant of variantsOf(schema)) walk(variant, place, input)
    if (schema.items !== undefined) walk(nodeOf(schema.items), `${place}[]`, input)
    if (isNode(schema.additionalProperties)) walk(schema.additionalProperties, `${place}{}`, input)
  }

  const describe = (operation: Node, route: string): void => {
    const id = String(operation.operationId)
    keep(id, route)
    for (const scheme of listOf(operation.security)) keep(id, `accepts ${Object.keys(nodeOf(scheme)).join()}`)
    if (operation['x-scope'] !== undefined) keep(id, `scope ${String(operation['x-scope'])}`)
    for (const parameter of listOf(operation.parameters).map(nodeOf)) {
      if (parameter.in !== 'query') continue
      const name = `?${String(parameter.name)}`
      if (parameter.required === true) bound(id, `requires ${name}`)
      walk(nodeOf(parameter.schema), `${id} ${name}`, true)
    }
    const body = nodeOf(operation.requestBody)
    if (body.required === true) bound(id, 'requires a body')
    for (const type of Object.keys(nodeOf(body.content))) if (type !== JSON_TYPE) keep(id, `takes ${type}`)
    const bodySchema = jsonSchema(body)
    if (bodySchema !== null) walk(bodySchema, `${id} body`, true)
    for (const [status, response] of Object.entries(nodeOf(operation.responses))) {
      if (!status.startsWith('2')) continue
      keep(id, `answers ${status}`)
      for (const [type, media] of Object.entries(nodeOf(nodeOf(response).content))) {
        if (type === JSON_TYPE) continue
        keep(id, `answers ${status} ${type}`)
        for (const [event, schema] of Object.entries(nodeOf(nodeOf(media)['x-events']))) {
          keep(id, `sends ${event}`)
          walk(nodeOf(schema), `${id} event ${event}`, false)
        }
        const { example } = nodeOf(media)
        // The header row of a CSV download.
        if (typeof example === 'string')
          for (const column of example.trim().split(',')) keep(id, `column ${column}`)
      }
      const result = jsonSchema(nodeOf(response))
      if (result !== null) walk(result, `${id} result`, false)
    }
  }

  for (const [path, methods] of Object.entries(nodeOf(document.paths))) {
    for (const [method, operation] of Object.entries(nodeOf(methods))) {
      describe(nodeOf(operation), `${method.toUpperCase()} ${path}`)
    }
  }
  for (const [name, schema] of Object.entries(nodeOf(nodeOf(document.components).schemas))) {
    walk(nodeOf(schema), `#${name}`, false)
  }
  for (const [type, webhook] of Object.entries(nodeOf(document.webhooks))) {
    const schema = jsonSchema(nodeOf(nodeOf(nodeOf(webhook).post).requestBody))
    if (schema !== null) walk(schema, `event ${type}`, false)
  }
  return { kept: [...kept].sort(), bounded: [...bounded].sort() }
}

/** Returns the breaking changes from a released description to a later one, one line each. */
export function breakingChanges(released: ApiFacts, later: ApiFacts): string[] {
  const allowed = new Set(released.bounded)
  const places = new Set(released.kept.map(placeOf))
  // A field that was always null was announced without a value. It may get one.
  for (const place of onlyNull(released)) places.delete(place)
  const isNewReference = (fact: string) =>
    fact.includes('\t#') && places.has(placeOf(fact)) && !allowed.has(fact)
  const kept = new Set(inline(later.kept, isNewReference))
  return [
    ...released.kept.filter((fact) => !kept.has(fact)).map((fact) => `removed: ${fact}`),
    ...inline(later.bounded, isNewReference)
      .filter((fact) => places.has(placeOf(fact)) && !allowed.has(fact))
      .map((fact) => `added: ${fact}`),
  ]
}

/** Returns the places whose only type was null. */
function onlyNull({ bounded }: ApiFacts): readonly string[] {
  const others = new Set(bounded.filter((fact) => !fact.endsWith('\tnull')).map(placeOf))
  return bounded
    .filter((fact) => fact.endsWith('\tnull'))
    .map(placeOf)
    .filter((place) => !others.has(place))
}

/** Replaces references to named results by their facts: a shape that got a name is the same shape. */
function inline(facts: readonly string[], isInlined: (fact: string) => boolean): string[] {
  return facts.flatMap((fact) => {
    if (!isInlined(fact)) return [fact]
    const place = placeOf(fact)
    const name = fact.slice(place.length + 1)
    return facts
      .filter((other) => other.startsWith(name) && /^[.[{\t]/.test(other.slice(name.length)))
      .map((other) => place + other.slice(name.length))
  })
}

function placeOf(fact: string): string {
  return fact.slice(0, fact.indexOf('\t'))
}

/**
 * Formats the facts of a release: the version, then one line per place with its facts. A fact is kept, bounded
 * (`-`) or both (`!`).
 */
export function factsText(version: string, { kept, bounded }: ApiFacts): string {
  const places = new Map<string, string[]>()
  const write = (fact: string, mark: string) => {
    const place = placeOf(fact)
    places.set(place, [...(places.get(place) ?? []), `${mark}${fact.slice(place.length + 1)}`])
  }
  for (const fact of kept) write(fact, bounded.includes(fact) ? '!' : '')
  for (const fact of bounded) if (!kept.includes(fact)) write(fact, '-')
  return [
    `version ${version}`,
    ...[...places].map(([place, facts]) => [place, ...facts].join('\t')),
    '',
  ].join('\n')
}

export function parseFacts(text: string): ApiFacts & { readonly version: string } {
  const [version = '', ...lines] = text.split('\n').filter((line) => line !== '')
  const facts = lines.flatMap((line) => {
    const [place, ...found] = line.split('\t')
    return found.map((fact) => ({ mark: fact.charAt(0), text: `${place}\t${fact.replace(/^[-!]/, '')}` }))
  })
  return {
    version: version.replace('version ', ''),
    kept: facts.filter(({ mark }) => mark !== '-').map((fact) => fact.text),
    bounded: facts.filter(({ mark }) => mark === '-' || mark === '!').map((fact) => fact.text),
  }
}

function typesOf(schema: Node): string[] {
  if (typeof schema.$ref === 'string') return [schema.$ref.replace('#/components/schemas/', '#')]
  if (variantsOf(schema).length > 0) return []
  if (schema.const !== undefined) return [JSON.stringify(schema.const)]
  if (Array.isArray(schema.type)) return schema.type.map(String)
  return [typeof schema.type === 'string' ? schema.type : 'any']
}

function variantsOf(schema: Node): Node[] {
  const variants = schema.anyOf ?? schema.oneOf ?? schema.allOf
  return listOf(variants).map(nodeOf)
}

function valuesOf(schema: Node): readonly unknown[] {
  return listOf(schema.enum ?? schema['x-known-values'])
}

const JSON_TYPE = 'application/json'

function jsonSchema(holder: Node): Node | null {
  const { schema } = nodeOf(nodeOf(holder.content)[JSON_TYPE])
  return isNode(schema) ? schema : null
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nodeOf(value: unknown): Node {
  return isNode(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
