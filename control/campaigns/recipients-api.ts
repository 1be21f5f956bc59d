import { setImmediate as endOfTurn } from 'node:timers/promises'
import { z } from 'zod'
import { audited } from '../api/audited.js'
import { csvRows, RefusedBody, type Upload } from '../api/content.js'
import { listOperation, operation, uploadOperation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { openEnum } from '../base/schemas.js'
import {
  type GivenRow,
  type ImportRefusal,
  type ImportResult,
  importRecipients,
  MAX_LISTED,
  MAX_RECIPIENTS,
} from '../recipients/import.js'
import { isVariableName, MAX_VARIABLES, REJECTION_REASONS } from '../recipients/recipient-rules.js'
import { findRecipient, listRecipients, removeRecipient } from '../recipients/store.js'
import { outputsOfCalls } from './outcomes-store.js'
import { findCampaign } from './store.js'
import { CampaignPath, noCampaign, Recipient, RecipientPath, recipientView } from './view.js'

const MAX_CSV_BYTES = 10 * 1024 * 1024
const MAX_BATCH = 1_000
/**
 * Bounds of a request, above those of a recipient that is imported: length of names and values, number of variables.
 */
const MAX_TEXT = 10_000
const MAX_FIELDS = 1_000
/** Columns of a CSV upload that are not variables. */
const NUMBER_COLUMNS = ['e164', 'phone']
const EXTERNAL_ID_COLUMN = 'externalId'

const noRecipient = () => refuse('not_found', 'The recipient does not exist.')

const Imported = z.object({
  imported: z.int(),
  rejectedCount: z.int().meta({ description: 'Recipients that were not imported.' }),
  rejected: z
    .array(
      z.object({
        index: z.int().meta({ description: 'Position of the recipient in the request, from 0.' }),
        line: z.int().optional().meta({ description: 'Line of the CSV body, from 1. Only for CSV.' }),
        e164: z.string(),
        code: z.string(),
        reason: openEnum(...REJECTION_REASONS),
        message: z.string(),
      }),
    )
    .max(MAX_LISTED)
    .meta({ description: `The first ${MAX_LISTED.toLocaleString('en')} of them.` }),
})

/** Seconds until the next try, while another upload runs. */
const BUSY = { 'retry-after': '10' }

function importRefusal(refusal: ImportRefusal, status: string): Refusal<'conflict'> {
  return refusal === 'busy'
    ? refuse(
        'conflict',
        'Another upload to the campaign is running. Retry when it has ended.',
        { status },
        BUSY,
      )
    : refuse('conflict', 'Recipients can be added to a draft or a paused campaign only.', { status })
}

const addRecipients = operation({
  id: 'addRecipients',
  method: 'post',
  path: '/v1/campaigns/:id/recipients',
  tag: 'Campaigns',
  summary: 'Add recipients',
  description:
    'Adds the valid recipients and returns the others with their reasons. A number that the campaign has already is ' +
    `rejected. A campaign has at most ${MAX_RECIPIENTS.toLocaleString('en')} recipients.`,
  audience: 'key',
  scope: 'write',
  idempotent: 'accepted',
  params: CampaignPath,
  limits: { bodyBytes: MAX_CSV_BYTES, bodyValues: MAX_BATCH * (MAX_VARIABLES + 10) },
  body: z.strictObject({
    recipients: z
      .array(
        z.strictObject({
          e164: z.string().max(64),
          externalId: z.string().max(1_000).optional(),
          // Each recipient is judged on its own; these bounds only keep the work small.
          variables: z
            .record(z.string().max(MAX_TEXT), z.string().max(MAX_TEXT))
            .refine(
              (variables) => Object.keys(variables).length <= MAX_FIELDS,
              `at most ${MAX_FIELDS} variables`,
            )
            .meta({ maxProperties: MAX_FIELDS })
            .optional(),
        }),
      )
      .min(1)
      .max(MAX_BATCH),
  }),
  status: 200,
  result: Imported,
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps, keep }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const result = await importRecipients(deps, campaign, rowsInTurns(body.recipients), keep)
    return typeof result === 'string' ? importRefusal(result, campaign.status) : result
  },
})

/** Recipients of a request that are judged before other requests run. */
const TURN_RECIPIENTS = 100

async function* rowsInTurns(recipients: readonly GivenRow['recipient'][]): AsyncGenerator<GivenRow> {
  for (const [index, recipient] of recipients.entries()) {
    yield { recipient, index }
    if (index % TURN_RECIPIENTS === TURN_RECIPIENTS - 1) await endOfTurn()
  }
}

const importRecipientsCsv = uploadOperation({
  id: 'importRecipients',
  method: 'post',
  path: '/v1/campaigns/:id/recipients/import',
  tag: 'Campaigns',
  summary: 'Import recipients from CSV',
  description:
    'The first row names the columns: `e164` or `phone`, optionally `externalId`; every other column is a variable. The ' +
    'delimiter is a comma, a semicolon, a tab or a vertical bar; a first line `sep=;` states it. An ' +
    'empty cell is no value. Valid rows are imported together, and the others are returned with line and reason: also a ' +
    'row with more cells than the first one. A ' +
    `body that cannot be read to its end imports nothing. At most ${MAX_VARIABLES + 1} columns and ` +
    `${MAX_RECIPIENTS.toLocaleString('en')} rows.`,
  audience: 'key',
  scope: 'write',
  params: CampaignPath,
  accepts: ['text/csv'],
  maxBytes: MAX_CSV_BYTES,
  status: 200,
  result: Imported,
  fails: ['not_found', 'conflict', 'bad_request'],
  run: async ({ params, body, actor, deps, keep }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const rows = recipientRows(body)
    const result: ImportResult | ImportRefusal = await importRecipients(deps, campaign, rows, keep)
    return typeof result === 'string' ? importRefusal(result, campaign.status) : result
  },
})

/** Reads recipients from CSV. Ends the handler with a refusal if the header or the CSV is wrong. */
async function* recipientRows(upload: Upload): AsyncGenerator<GivenRow> {
  let columns: readonly string[] | null = null
  let index = 0
  for await (const { line, cells } of csvRows(upload, {
    maxColumns: MAX_VARIABLES + 1,
    maxRows: MAX_RECIPIENTS,
  })) {
    if (columns === null) {
      columns = headerOf(cells)
      checkHeader(columns)
      continue
    }
    const variables: Record<string, string> = {}
    let e164 = ''
    let externalId: string | undefined
    for (const [i, name] of columns.entries()) {
      const value = cells[i] ?? ''
      if (NUMBER_COLUMNS.includes(name)) e164 = value.trim()
      else if (name === EXTERNAL_ID_COLUMN) externalId = value
      else if (value !== '') variables[name] = value
    }
    const hasExtraCells = cells.slice(columns.length).some((cell) => cell.trim() !== '')
    yield { recipient: { e164, externalId, variables, hasExtraCells }, index, line }
    index++
  }
  if (columns === null) throw new RefusedBody(refuse('bad_request', 'The body has no header row.'))
}

/** Returns the names of the columns, without empty ones at the end, which spreadsheets write in every row. */
function headerOf(cells: readonly string[]): readonly string[] {
  const names = cells.map((name) => name.trim())
  return names.slice(0, names.findLastIndex((name) => name !== '') + 1)
}

function checkHeader(columns: readonly string[]): void {
  const wrong = (message: string) => new RefusedBody(refuse('bad_request', message))
  if (columns.filter((name) => NUMBER_COLUMNS.includes(name)).length !== 1) {
    throw wrong('The header row must have one column named e164 or phone.')
  }
  const twice = columns.find((name, i) => columns.indexOf(name) !== i)
  if (twice !== undefined) throw wrong(`The header row has the column ${twice} twice.`)
  const bad = columns.find((name) => !isVariableName(name))
  if (bad !== undefined) {
    throw wrong(`The column ${JSON.stringify(bad.slice(0, 60))} is not the name of a variable.`)
  }
}

const listRecipientsOperation = listOperation({
  id: 'listRecipients',
  path: '/v1/campaigns/:id/recipients',
  tag: 'Campaigns',
  summary: 'List recipients',
  description: 'In the order of upload.',
  audience: 'key',
  scope: 'read',
  params: CampaignPath,
  query: z.strictObject({
    status: z.string().max(40).optional(),
    outcome: z.string().max(40).optional(),
    excludedReason: z.string().max(40).optional(),
    e164: z.string().max(40).optional(),
  }),
  result: Recipient,
  fails: ['not_found'],
  run: async ({ params, query, actor, deps, page }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const { items, ...rest } = await listRecipients(deps.reads, campaign, query, page)
    const outputs = await outputsOfCalls(
      deps.db,
      actor,
      items.map(({ lastCallId }) => lastCallId),
    )
    return {
      ...rest,
      items: items.map((row) => recipientView(row, outputs.get(row.lastCallId ?? '') ?? null)),
    }
  },
})

const readRecipient = operation({
  id: 'readRecipient',
  method: 'get',
  path: '/v1/campaigns/:id/recipients/:recipientId',
  tag: 'Campaigns',
  summary: 'Get a recipient',
  description: 'A recipient with its attempts, its outcome and the outputs of its last call.',
  audience: 'key',
  scope: 'read',
  params: RecipientPath,
  status: 200,
  result: Recipient,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const row = await findRecipient(deps.db, campaign, params.recipientId)
    if (row === null) return noRecipient()
    const outputs = await outputsOfCalls(deps.db, actor, [row.lastCallId])
    return recipientView(row, outputs.get(row.lastCallId ?? '') ?? null)
  },
})

const deleteRecipient = operation({
  id: 'deleteRecipient',
  method: 'delete',
  path: '/v1/campaigns/:id/recipients/:recipientId',
  tag: 'Campaigns',
  summary: 'Remove a recipient',
  description: 'Only recipients of a draft or a paused campaign that were not dialled can be removed.',
  audience: 'key',
  scope: 'write',
  params: RecipientPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }) => {
    const campaign = await findCampaign(deps.db, actor, params.id)
    if (campaign === null) return noCampaign()
    const row = await findRecipient(deps.db, campaign, params.recipientId)
    if (row === null) return noRecipient()
    const removed = await audited({ deps, actor, requestId }, async (trx, record, now) => {
      const done = await removeRecipient(trx, campaign, row, now)
      if (done) await record('campaign.recipient_removed', campaign.id, { before: { recipientId: row.id } })
      return done
    })
    const { status } = campaign
    return removed
      ? undefined
      : refuse('conflict', 'The recipient was dialled, or the campaign is neither a draft nor paused.', {
          status,
        })
  },
})

export const recipientOperations = [
  addRecipients,
  importRecipientsCsv,
  listRecipientsOperation,
  readRecipient,
  deleteRecipient,
]
