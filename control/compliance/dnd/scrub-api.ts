import { z } from 'zod'
import { listOperation, uploadOperation } from '../../api/operation.js'
import { newestFirst } from '../../api/pagination.js'
import { refuse } from '../../api/problem.js'
import { Instant, parseInstant } from '../../base/instant.js'
import { Timestamp, timestamp, timestampOrNull } from '../../base/schemas.js'
import type { RegisterScrubRow } from '../../db/tables/compliance.js'
import { importScrub } from './scrub-import.js'

const MAX_BYTES = 64 * 1024 * 1024

const Scrub = z.object({
  id: z.string(),
  scrubbedAt: Timestamp,
  validUntil: Timestamp,
  rows: z.int().nullable().meta({ description: 'Rows of the file. Null until the whole file is stored.' }),
  sha256: z.string().nullable().meta({ description: 'Hash of the file, which evidence of calls names.' }),
  createdBy: z
    .string()
    .nullable()
    .meta({ description: 'Id of the staff user. Null for an import on the command line.' }),
  createdAt: Timestamp,
  importedAt: Timestamp.nullable().meta({ description: 'Null while the import runs.' }),
})

function scrubView(row: RegisterScrubRow): z.input<typeof Scrub> {
  return {
    ...row,
    scrubbedAt: timestamp(row.scrubbedAt),
    validUntil: timestamp(row.validUntil),
    createdAt: timestamp(row.createdAt),
    importedAt: timestampOrNull(row.importedAt),
  }
}

const importDndScrub = uploadOperation({
  id: 'importDndScrub',
  method: 'post',
  path: '/v1/staff/dnd-register/imports',
  tag: 'Staff',
  summary: 'Import a scrub file of the DND register',
  description:
    'CSV with the columns `e164`, `listed` (`true` or `false`) and optionally `category`. Live promotional calls of every ' +
    'organization ask it while it is valid. A file with a wrong row is not imported; `issues` names the lines.',
  audience: 'staff',
  query: z.object({
    scrubbedAt: Instant.meta({ description: 'When the register answered.' }),
    validUntil: Instant.optional().meta({
      description:
        'At most the end of the seventh IST day, the day of the scrub included, which is the default.',
    }),
  }),
  accepts: ['text/csv'],
  maxBytes: MAX_BYTES,
  status: 201,
  result: Scrub,
  fails: ['bad_request', 'validation_error'],
  run: async ({ query, body, actor, deps }) => {
    const instant = (text: string | undefined) => (text === undefined ? null : parseInstant(text))
    const made = await importScrub(deps, {
      content: body.content,
      scrubbedAt: instant(query.scrubbedAt) ?? 0,
      validUntil: instant(query.validUntil),
      createdBy: actor.userId,
    })
    if (!('problems' in made)) return scrubView(made)
    const issues = made.problems.map(({ at, reason }) => ({
      path: typeof at === 'number' ? `line ${at}` : at,
      reason,
    }))
    const what = made.count === 1 ? 'There is 1 problem' : `There are ${made.count} problems`
    return refuse('validation_error', `${what}. Nothing was imported.`, { issues })
  },
})

const listDndScrubs = listOperation({
  id: 'listDndScrubs',
  path: '/v1/staff/dnd-register/imports',
  tag: 'Staff',
  summary: 'List scrub files of the DND register',
  description: 'Newest first. The numbers of a file are removed when it is no longer valid.',
  audience: 'staff',
  result: Scrub,
  fails: [],
  run: async ({ deps, page }) => {
    const { items, next } = await newestFirst(deps.db.selectFrom('registerScrubs').selectAll(), page)
    return { items: items.map(scrubView), next }
  },
})

export const staffRegisterOperations = [importDndScrub, listDndScrubs]
