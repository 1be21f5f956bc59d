import type { X509Certificate } from 'node:crypto'
import { canonicalJson, type Json } from '../../base/canonical-json.js'
import { keyIdOf, sha256 } from './hashes.js'
import { stampTimeProblem, type TimeStamp, TimeStampError, verifyTimeStamp } from './time-stamp.js'
import { ChainVerifier, type EvidenceLine, type Problem, type SealedPart } from './verify.js'

/*
 * The offline verifier of exported chains (docs/evidence.md). Its caller passes the function that decides again.
 */

export const BUNDLE_FORMAT = 'parley-evidence-2'
/** Bundles of the first format have no time stamps. */
const FORMATS: readonly string[] = ['parley-evidence-1', BUNDLE_FORMAT]

/** A problem with the line of the file (from 1) on which it shows. Null if it concerns the whole file. */
export interface BundleProblem {
  readonly line: number | null
  readonly code:
    | Problem['code']
    | 'not_a_bundle'
    | 'wrong_policy'
    | 'wrong_head'
    | 'unknown_key'
    | 'head_missing'
    | 'wrong_time_stamp'
  readonly message: string
}

/** Result of a decision that is made again from the sealed facts. */
export type Replay =
  | { readonly kind: 'same' }
  | { readonly kind: 'differs'; readonly message: string }
  /** Another version of the rules decided, or the record has no facts. */
  | { readonly kind: 'not_replayed' }

/** Knowledge of the reader from outside of the file. */
export interface Known {
  /** Raw public key (hex) or key id that must have signed records of this chain. */
  readonly key?: string
  /** A record of this chain: from a PDF, a webhook or the API. */
  readonly heads?: readonly { readonly seq: number; readonly hash: string }[]
  /** Certificates, one of which must have issued those of all time stamps. Without them any issuer is accepted. */
  readonly authorities?: readonly X509Certificate[]
}

export interface BundleReport {
  readonly problems: readonly BundleProblem[]
  readonly organizationId: string
  readonly environment: string
  readonly records: number
  readonly erased: number
  /** The last record. */
  readonly head: { readonly seq: number; readonly hash: string }
  readonly keyIds: readonly string[]
  readonly decisions: { readonly same: number; readonly notReplayed: number }
  readonly timeStamps: {
    readonly count: number
    /** The last one, and the record that it follows. */
    readonly last: (TimeStamp & { readonly seq: number }) | null
    /** Longest time between the sealing of a record and its time stamp (ms). */
    readonly longestDelayMs: number
  }
}

interface Header {
  readonly format: string
  readonly organizationId: string
  readonly environment: string
  readonly start: { readonly seq: number; readonly hash: string; readonly publicKey: string }
  readonly head: { readonly seq: number; readonly hash: string }
}

/** Problems that are reported at most. A file that was altered everywhere needs no list. */
const MAX_PROBLEMS = 100

/** Verifies the lines of a bundle, without their line ends. `replay` gets the rules of operators by their versions. */
export async function verifyBundle(
  lines: AsyncIterable<string>,
  replay: (sealed: SealedPart, policies: ReadonlyMap<string, unknown>) => Replay,
  known: Known = {},
): Promise<BundleReport> {
  const problems: BundleProblem[] = []
  const report = (line: number | null, { code, message }: Pick<BundleProblem, 'code' | 'message'>): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ line, code, message })
  }
  const awaited = new Map((known.heads ?? []).map(({ seq, hash }) => [seq, hash]))
  const decisions = { same: 0, notReplayed: 0 }
  const keys = new Set<string>()
  let header: Header | null = null
  let verifier: ChainVerifier | null = null
  const policies = new Map<string, unknown>()
  const stamps = new TimeStamps(known.authorities ?? null)
  let number = 0
  let records = 0
  let erased = 0
  for await (const text of lines) {
    number++
    if (verifier === null || header === null) {
      header = headerOf(text)
      if (header === null) {
        const message = `Line ${number} is not the header of a bundle of the format ${BUNDLE_FORMAT}.`
        return emptyReport([{ line: number, code: 'not_a_bundle', message }])
      }
      verifier = new ChainVerifier(header, header.start)
      keys.add(header.start.publicKey)
      continue
    }
    const token = header.format === BUNDLE_FORMAT ? tokenOf(text) : null
    if (token !== null) {
      const message = stamps.take(token)
      if (message !== null) report(number, { code: 'wrong_time_stamp', message })
      continue
    }
    const policy = header.format === BUNDLE_FORMAT && records === 0 ? policyOf(text) : null
    if (policy !== null) {
      const { version, rules } = policy
      if (version.endsWith(`+${sha256(canonicalJson(rules as Json))}`)) policies.set(version, rules)
      else
        report(number, {
          code: 'wrong_policy',
          message: `The rules are not those of the version ${version}.`,
        })
      continue
    }
    records++
    const line = lineOf(text)
    stamps.follow(null)
    if (line === null) {
      report(number, { code: 'not_a_record', message: `Line ${number} is not a record in canonical JSON.` })
      continue
    }
    const { sealed, problems: found } = verifier.take(line)
    for (const problem of found) report(number, problem)
    if (sealed === null) continue
    keys.add(verifier.at.publicKey)
    stamps.follow({ seq: sealed.seq, hash: line.hash, sealedAt: Date.parse(sealed.sealedAt ?? '') })
    if (sealed.subject != null && line.salt === null) erased++
    const hash = awaited.get(sealed.seq)
    if (hash !== undefined) {
      awaited.delete(sealed.seq)
      if (hash !== line.hash) {
        report(number, {
          code: 'wrong_head',
          message: `Record ${sealed.seq} has the hash ${line.hash}; the known hash is ${hash}.`,
        })
      }
    }
    if (sealed.kind !== 'gate') continue
    const again = replay(sealed, policies)
    if (again.kind === 'same') decisions.same++
    else if (again.kind === 'not_replayed') decisions.notReplayed++
    else {
      const message = `The sealed facts of record ${sealed.seq} give another decision: ${again.message}`
      report(number, { code: 'decision_differs', message })
    }
  }
  if (header === null || verifier === null) {
    return emptyReport([{ line: null, code: 'not_a_bundle', message: 'The file is empty.' }])
  }
  for (const problem of verifier.finish()) report(null, problem)
  for (const problem of endProblems(header, verifier, known, keys)) report(null, problem)
  for (const seq of awaited.keys()) {
    const message =
      seq > verifier.at.seq
        ? `The known record ${seq} is missing: the end of the chain was cut off after record ${verifier.at.seq}.`
        : `The known record ${seq} is not in this file, which begins after record ${header.start.seq}.`
    report(null, { code: 'head_missing', message })
  }
  return {
    problems,
    organizationId: header.organizationId,
    environment: header.environment,
    records,
    erased,
    head: { seq: verifier.at.seq, hash: verifier.at.hash },
    keyIds: [...keys].map(keyIdOf),
    decisions,
    timeStamps: stamps.report(),
  }
}

/** Verifies time stamps. Each follows the record whose hash it is of. */
class TimeStamps {
  readonly #authorities: readonly X509Certificate[] | null
  /** The record that has no time stamp yet. */
  #record: { readonly seq: number; readonly hash: string; readonly sealedAt: number } | null = null
  #count = 0
  #last: BundleReport['timeStamps']['last'] = null
  #longestDelayMs = 0

  constructor(authorities: readonly X509Certificate[] | null) {
    this.#authorities = authorities
  }

  follow(record: { readonly seq: number; readonly hash: string; readonly sealedAt: number } | null): void {
    this.#record = record
  }

  /** Takes the time stamp after the record. Returns what is wrong, or null. */
  take(token: Buffer): string | null {
    const record = this.#record
    if (record === null) return 'The time stamp does not follow a record, or is its second one.'
    this.#record = null
    const { seq, hash, sealedAt } = record
    try {
      const stamp = verifyTimeStamp(token, hash, this.#authorities)
      const problem = stampTimeProblem(seq, sealedAt, stamp.at)
      if (problem !== null) return problem
      this.#count++
      this.#last = { ...stamp, seq }
      this.#longestDelayMs = Math.max(this.#longestDelayMs, stamp.at - sealedAt)
      return null
    } catch (error) {
      if (!(error instanceof TimeStampError)) throw error
      return `The time stamp of record ${seq} is wrong. ${error.message}`
    }
  }

  report(): BundleReport['timeStamps'] {
    return { count: this.#count, last: this.#last, longestDelayMs: this.#longestDelayMs }
  }
}

function endProblems(
  { head, start }: Header,
  verifier: ChainVerifier,
  known: Known,
  keys: ReadonlySet<string>,
): Pick<BundleProblem, 'code' | 'message'>[] {
  const problems: Pick<BundleProblem, 'code' | 'message'>[] = []
  const { at } = verifier
  if (at.seq !== head.seq || at.hash !== head.hash) {
    const message = `The header names record ${head.seq} as the last one; the chain ends with record ${at.seq}.`
    problems.push({ code: 'head_missing', message })
  }
  if (start.seq > 0 && !verifier.isRemoved(start.seq, start.hash)) {
    const message = `The chain begins after record ${start.seq}, and no retention record says that it was removed.`
    problems.push({ code: 'records_missing', message })
  }
  const { key } = known
  if (key !== undefined && ![...keys].some((found) => found === key || keyIdOf(found) === key)) {
    problems.push({ code: 'unknown_key', message: `No record of this chain was signed with the key ${key}.` })
  }
  return problems
}

function emptyReport(problems: readonly BundleProblem[]): BundleReport {
  const head = { seq: 0, hash: '' }
  const nothing = { organizationId: '', environment: '', records: 0, erased: 0, head, keyIds: [] }
  const timeStamps = { count: 0, last: null, longestDelayMs: 0 }
  return { problems, ...nothing, decisions: { same: 0, notReplayed: 0 }, timeStamps }
}

const HEX_32 = /^[0-9a-f]{64}$/

/** Reads the header. Returns null unless the line is exactly as the service writes it. */
function headerOf(text: string): Header | null {
  const parsed = objectOf(text)
  const { format, organizationId, environment, start, head } = (parsed ?? {}) as Partial<Header>
  if (
    format === undefined ||
    !FORMATS.includes(format) ||
    typeof organizationId !== 'string' ||
    typeof environment !== 'string'
  ) {
    return null
  }
  const hashes = [start?.hash, start?.publicKey, head?.hash]
  if (start === undefined || head === undefined || !hashes.every((hash) => HEX_32.test(String(hash))))
    return null
  const { hash, publicKey, seq } = start
  const ends = { environment, format, head: { hash: head.hash, seq: head.seq } }
  const exact = JSON.stringify({ ...ends, organizationId, start: { hash, publicKey, seq } })
  return exact === text ? { format, organizationId, environment, start, head } : null
}

/** Reads the line of a time stamp. Returns null unless it is exactly as the service writes it. */
function tokenOf(text: string): Buffer | null {
  const { timeStamp } = (objectOf(text) ?? {}) as { readonly timeStamp?: unknown }
  if (typeof timeStamp !== 'string') return null
  const token = Buffer.from(timeStamp, 'base64')
  return timeStampLine(token.toString('base64')) === text ? token : null
}

/** Returns the line of a time stamp, without its line end. `token` is base64. */
export function timeStampLine(token: string): string {
  return JSON.stringify({ timeStamp: token })
}

/** Reads the line of rules. Returns null unless it is exactly as the service writes it. */
function policyOf(text: string): { readonly version: string; readonly rules: object } | null {
  const { version, rules } = (objectOf(text) ?? {}) as {
    readonly version?: unknown
    readonly rules?: unknown
  }
  if (typeof version !== 'string' || typeof rules !== 'object' || rules === null) return null
  return policyLine(version, rules) === text ? { version, rules } : null
}

/** Returns the line of the rules of an operator, without its line end. */
export function policyLine(version: string, rules: object): string {
  return canonicalJson({ rules: rules as Json, version })
}

/** Reads a record. Returns null unless the line is exactly as the service writes it. */
function lineOf(text: string): EvidenceLine | null {
  const { record, hash, signature, e164, salt, personal } = (objectOf(text) ?? {}) as Partial<EvidenceLine>
  if (typeof record !== 'string' || typeof hash !== 'string' || typeof signature !== 'string') return null
  const isText = (value: unknown): value is string | null => value === null || typeof value === 'string'
  if (!isText(e164) || !isText(salt) || !isText(personal)) return null
  const exact = JSON.stringify({ e164, hash, personal, record, salt, signature })
  return exact === text ? { record, hash, signature, e164, salt, personal } : null
}

function objectOf(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' ? parsed : null
  } catch {
    return null // not JSON: the caller reports the line
  }
}
