import { readFileSync } from 'node:fs'
import t from 'tap'
import { operations } from '../app/operations.js'
import { RELEASED_FILE } from '../cli/openapi-files.js'
import { API_VERSION } from '../system/api.js'
import { apiFacts, breakingChanges, factsText, parseFacts } from './api-facts.js'
import { openApiDocument } from './document.js'
import { WEBHOOKS } from './webhook-events.js'

t.test('nothing of the released API is removed, retyped or newly required', async (t) => {
  const released = parseFacts(readFileSync(RELEASED_FILE, 'utf8'))
  t.ok(released.kept.length > 1000, 'the released description is not empty')
  const now = apiFacts(openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS }))
  t.same(breakingChanges(released, now), [])
  const added = now.kept.filter((fact) => !released.kept.includes(fact))
  if (added.length > 0) t.ok(isLater(API_VERSION, released.version), `${API_VERSION} > ${released.version}`)
})

function isLater(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const at = [0, 1, 2].find((index) => a?.[index] !== b?.[index])
  return at !== undefined && Number(a?.[at]) > Number(b?.[at])
}

const string = { type: 'string' }
const orNull = { type: ['string', 'null'] }

/** A document with one operation, its body, and its result. */
function documentOf(changes: { body?: object; required?: string[]; result?: object; query?: object[] }) {
  const json = (schema: object) => ({ content: { 'application/json': { schema } } })
  const operation = {
    operationId: 'placeCall',
    'x-scope': 'write',
    parameters: changes.query ?? [],
    requestBody: {
      required: true,
      ...json({
        type: 'object',
        required: changes.required ?? ['to'],
        properties: changes.body ?? { to: string, note: orNull, mode: { enum: ['a', 'b'] } },
      }),
    },
    responses: { 201: json({ $ref: '#/components/schemas/Call' }) },
  }
  const call = {
    type: 'object',
    required: ['id'],
    properties: changes.result ?? { id: string, error: orNull },
  }
  return { paths: { '/v1/calls': { post: operation } }, components: { schemas: { Call: call } } }
}

t.test('which changes break clients', async (t) => {
  const released = apiFacts(documentOf({}))
  const body = { to: string, note: orNull, mode: { enum: ['a', 'b'] } }
  const result = { id: string, error: orNull }
  const limit = { in: 'query', name: 'limit', schema: string }
  const table: readonly [
    what: string,
    changes: Parameters<typeof documentOf>[0],
    lines: readonly string[],
  ][] = [
    ['nothing', {}, []],
    ['a new optional input', { body: { ...body, extra: string } }, []],
    ['a new value of an input', { body: { ...body, mode: { enum: ['a', 'b', 'c'] } } }, []],
    ['a new optional parameter', { query: [limit] }, []],
    ['a new field of a result', { result: { ...result, extra: orNull } }, []],
    ['an input that is no longer required', { required: [] }, []],
    [
      'an input that is gone',
      { body: { to: string, mode: { enum: ['a', 'b'] } } },
      ['removed: placeCall body.note\tnull', 'removed: placeCall body.note\tstring'],
    ],
    [
      'an input that loses a type',
      { body: { ...body, note: string } },
      ['removed: placeCall body.note\tnull'],
    ],
    [
      'an input that loses a value',
      { body: { ...body, mode: { enum: ['a'] } } },
      ['removed: placeCall body.mode\t= "b"'],
    ],
    ['a newly required input', { required: ['to', 'note'] }, ['added: placeCall body\trequires note']],
    [
      'a new required parameter',
      { query: [{ ...limit, required: true }] },
      ['added: placeCall\trequires ?limit'],
    ],
    [
      'a result field that is gone',
      { result: { id: string } },
      ['removed: #Call.error\tnull', 'removed: #Call.error\tsometimes', 'removed: #Call.error\tstring'],
    ],
    [
      'a result field with another type',
      { result: { id: orNull, error: orNull } },
      ['added: #Call.id\tnull'],
    ],
  ]
  for (const [what, changes, lines] of table) {
    t.same(breakingChanges(released, apiFacts(documentOf(changes))), lines, what)
  }
  const reserved = apiFacts(documentOf({ result: { id: string, error: { type: 'null' } } }))
  t.same(breakingChanges(reserved, apiFacts(documentOf({}))), [], 'a field that was always null')
  const named = apiFacts({
    ...documentOf({}),
    components: {
      schemas: {
        Call: {
          type: 'object',
          properties: {
            id: string,
            error: { $ref: '#/components/schemas/Fault' },
          },
          required: ['id'],
        },
        Fault: orNull,
      },
    },
  })
  t.same(breakingChanges(released, named), [], 'a shape that got a name')
  t.same(
    breakingChanges(released, apiFacts({})).filter((line) => line.includes('POST')),
    ['removed: placeCall\tPOST /v1/calls'],
    'an operation that is gone',
  )
  const read = parseFacts(factsText('1.2.3', released))
  t.equal(read.version, '1.2.3')
  t.same(new Set(read.kept), new Set(released.kept), 'the file keeps everything')
  t.same(new Set(read.bounded), new Set(released.bounded))
})
