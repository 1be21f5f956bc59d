import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openRootKey } from '../base/root-key.js'
import { writeBundle } from '../compliance/evidence/bundle.js'
import { textLines } from '../compliance/evidence/lines.js'
import { replayDecision } from '../compliance/evidence/replay.js'
import { openEvidenceKeys } from '../compliance/evidence/seal.js'
import { type BundleReport, type Known, verifyBundle } from '../compliance/evidence/verify-bundle.js'
import type { Settings } from '../config/settings.js'
import { certificateFile } from '../config/time-stamp-authority.js'
import type { Db } from '../db/database.js'
import { findOrganization } from './find-organization.js'
import { oneOf, parseOptions, UsageError } from './options.js'

/** Runs `parley evidence export`: writes the chain of an organization and environment to a file. */
export async function exportCommand(db: Db, settings: Settings, args: readonly string[]): Promise<void> {
  const { values } = parseOptions(args, {
    environment: { type: 'string' },
    organization: { type: 'string' },
    out: { type: 'string' },
  })
  const environment = oneOf('--environment', values.environment, ['test', 'live'] as const)
  const organizationId = await findOrganization(db, values.organization)
  const { out } = values
  if (out === undefined) throw new UsageError('--out must name a file')
  const keys = openEvidenceKeys(openRootKey(settings.rootKey, settings.dataFolder))
  const bundle = Readable.from(writeBundle(db, { organizationId, environment }, keys))
  await pipeline(bundle, createWriteStream(out, { mode: 0o600 }))
  process.stdout.write(`${out} holds the chain. Verify it with: parley evidence verify ${out}\n`)
}

/** Runs `parley evidence verify`. Returns exit status 0 if the file is whole, else 1. */
export async function verifyCommand(args: readonly string[]): Promise<number> {
  const [file, ...rest] = args
  if (file === undefined || file.startsWith('-'))
    throw new UsageError('give a file: parley evidence verify FILE')
  const { values } = parseOptions(rest, {
    key: { type: 'string' },
    head: { type: 'string', multiple: true },
    authorities: { type: 'string' },
  })
  const known: Known = {
    heads: (values.head ?? []).map(headOf),
    ...(values.key === undefined ? {} : { key: values.key }),
    ...(values.authorities === undefined ? {} : { authorities: authoritiesOf(values.authorities) }),
  }
  const report = await verifyBundle(textLines(createReadStream(file)), replayDecision, known)
  process.stdout.write(reportText(report, known))
  return report.problems.length === 0 ? 0 : 1
}

function headOf(text: string): { readonly seq: number; readonly hash: string } {
  const found = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (found === null) throw new UsageError('--head must be NUMBER:HASH, for example 42:9f86...')
  return { seq: Number(found[1]), hash: found[2] ?? '' }
}

function authoritiesOf(file: string): NonNullable<Known['authorities']> {
  const read = certificateFile(process.cwd())(file)
  if (!read.ok) throw new UsageError(`--authorities ${file}: ${read.fix}`)
  return read.value
}

/** Returns the findings for a person. */
export function reportText(report: BundleReport, known: Known): string {
  const { problems, records, erased, head, decisions, keyIds } = report
  const lines = problems.map(({ line, message }) => (line === null ? message : `Line ${line}: ${message}`))
  if (problems.length > 0) return `${lines.join('\n')}\nBROKEN: ${problems.length} problems.\n`
  lines.push(
    `VALID: ${records} records of ${report.organizationId} (${report.environment}), up to record ${head.seq}.`,
    `  Head       ${head.seq}:${head.hash}`,
    `  Keys       ${keyIds.join(', ')}`,
    `  Decisions  ${decisions.same} give the same verdict from their sealed facts; ${decisions.notReplayed} were not decided again.`,
  )
  lines.push(...timeStampLines(report, known))
  if (erased > 0) lines.push(`  Erased     the personal data of ${erased} records, as erasure records say.`)
  if (known.key === undefined && (known.heads ?? []).length === 0) {
    lines.push(
      'The file was compared with nothing from elsewhere. Give --key and --head from a PDF, a webhook or the API to',
      'prove that the chain was neither rewritten nor shortened.',
    )
  }
  return `${lines.join('\n')}\n`
}

function timeStampLines(
  { timeStamps: { count, last, longestDelayMs } }: BundleReport,
  known: Known,
): string[] {
  if (last === null) return ['  Time       no time stamp authority has confirmed a record.']
  const lines = [
    `  Time       ${count} time stamps, at most ${Math.ceil(longestDelayMs / 60_000)} minutes after the sealing.`,
    `             ${last.authority} confirmed record ${last.seq} and all before it on ${new Date(last.at).toISOString()}.`,
  ]
  if (known.authorities === undefined) {
    lines.push(
      '             The issuer of its certificate was not checked: give --authorities with a PEM file.',
    )
  }
  return lines
}
