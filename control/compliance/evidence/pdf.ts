import type { z } from 'zod'
import type { PdfBlock, PdfDocument } from '../../../workers/jobs/pdf/document.js'
import type { EvidenceRow } from '../../db/tables/calling.js'
import type { CheckType } from '../check.js'
import type { CallEvidence } from './read.js'
import { type EvidenceHead, type EvidenceRecord, type EvidenceTimeStamp, evidenceView } from './view.js'

interface Verification {
  readonly valid: boolean
  readonly problem: string | null
  readonly head: z.input<typeof EvidenceHead>
  readonly timeStamp: z.input<typeof EvidenceTimeStamp> | null
}

type View = z.input<typeof EvidenceRecord>

/** Titles of the checks for a reader who does not know the service. */
const TITLES: Readonly<Record<CheckType, string>> = {
  number_format: 'Is it a number that may be called?',
  dnc: 'Did the person ask not to be called?',
  enforcement: 'Is the caller barred from calling?',
  verification: 'Is the caller verified?',
  calling_window: 'Is calling allowed at this time?',
  dnd_register: 'Is the number on the national DND register?',
  consent: 'Did the person consent?',
  frequency_cap: 'Was the person called too recently?',
  robocall_declaration: 'Were automated calls declared?',
  sender_registration: 'Is the sender registered?',
  wallet: 'Are the costs of the call covered?',
}
const RESULTS: Readonly<Record<string, string>> = {
  pass: 'in order',
  warn: 'in order, with a warning',
  block: 'refused',
  skipped: 'not asked',
}

/** Builds the page of a call from its sealed records. `now` is the time of the print. */
export function evidencePage(
  callId: string,
  { gate, outcome }: CallEvidence,
  { valid, problem, head, timeStamp }: Verification,
  now: number,
): PdfDocument {
  const views = [gate, outcome].filter((row): row is EvidenceRow => row !== null).map(evidenceView)
  const [first] = views
  const decision = gate === null ? null : evidenceView(gate)
  const end = outcome === null ? null : evidenceView(outcome)
  const state = valid ? 'The records below are complete and unaltered.' : `A RECORD IS BROKEN. ${problem}`
  return {
    title: 'Evidence of a telephone call',
    createdAt: now,
    footer: `Parley, evidence of ${callId}`,
    textSize: 8,
    blocks: [
      {
        kind: 'paragraph',
        text:
          'Parley places telephone calls with voice agents. Before each call it checks whether the call is ' +
          'allowed. It seals the decision before the telephone rings and the outcome after the call. A sealed ' +
          'record cannot be changed later without a trace. This page states what these records say, and nothing ' +
          `else. ${state}`,
      },
      {
        kind: 'facts',
        rows: [
          ['Call', callId],
          ['Person', personOf(first)],
          ['Number of the organization', first?.number ?? ''],
          ['Agent and version', agentOf(first)],
          ...decisionRows(decision),
        ],
      },
      ...checkTable(decision),
      ...outcomeBlocks(end),
      { kind: 'heading', text: 'How to verify this page' },
      {
        kind: 'facts',
        rows: [
          ...views.map(sealRow),
          [`Chain head, record ${head.seq}`, head.hash],
          ['Time stamp', stampText(timeStamp)],
          ['Public key', `${head.publicKey}, id ${head.keyId}`],
        ],
      },
      {
        kind: 'paragraph',
        text:
          'A record is genuine if its SHA-256 hash, its Ed25519 signature and its link to the record before it are ' +
          'right. The program "parley evidence verify" checks this without the service, and docs/evidence.md of ' +
          'Parley states the method for other programs. Keep this page: the chain head on it proves later that no ' +
          'record up to it was removed or replaced.',
      },
    ],
  }
}

function personOf(view: View | undefined): string {
  if (view === undefined) return ''
  return view.e164 ?? 'erased at the request of the person'
}

function agentOf(view: View | undefined): string {
  return view?.agentId == null ? 'none' : `${view.agentId}, ${view.agentVersionId ?? 'no version'}`
}

function decisionRows(view: View | null): [string, string][] {
  if (view === null) return [['Decision', 'None. The person called the organization.']]
  const refused = (view.checks ?? []).some(({ outcome }) => outcome === 'block')
  return [
    ['Purpose of the call', view.sender?.purpose ?? ''],
    ['Decision', `${refused ? 'Refused' : 'Allowed'} on ${inIndia(view.decidedAt)}`],
    ['Rules', `Version ${view.policyVersion ?? ''}`],
  ]
}

function checkTable(view: View | null): PdfBlock[] {
  if (view === null) return []
  return [
    {
      kind: 'table',
      columns: [
        { title: 'Question', share: 4 },
        { title: 'Result', share: 2 },
        { title: 'Finding', share: 6 },
      ],
      rows: (view.checks ?? []).map((check) => [
        titleOf(check.type),
        RESULTS[check.outcome] ?? check.outcome,
        check.source === null ? check.message : `${check.message} (${check.source})`,
      ]),
    },
  ]
}

/** Returns the title of a check, or the type of one that another release made. */
function titleOf(type: string): string {
  return Object.entries(TITLES).find(([known]) => known === type)?.[1] ?? type
}

function outcomeBlocks(view: View | null): PdfBlock[] {
  const outcome = view?.outcome
  if (outcome == null) return [{ kind: 'paragraph', text: 'The outcome of the call is not sealed yet.' }]
  return [
    { kind: 'heading', text: 'Outcome' },
    {
      kind: 'facts',
      rows: [
        ['Result', `${outcome.disposition ?? 'unknown'}, ${outcome.durationSeconds} seconds`],
        ['Answered', inIndia(outcome.answeredAt)],
        ['Ended', inIndia(outcome.endedAt)],
        ['SHA-256 of the recording', outcome.recordingSha256 ?? 'no recording'],
        ...(outcome.parts ?? []).map(({ transferId, part, sha256 }): [string, string] => [
          part === 'human' ? 'SHA-256 of the part with a person' : 'SHA-256 of the part after a transfer',
          `${sha256}, ${transferId}`,
        ]),
        ['SHA-256 of the transcript', outcome.transcriptSha256 ?? 'no transcript'],
        ...(outcome.monitors ?? []).map(({ mode, userId, startedAt, endedAt }): [string, string] => [
          mode === 'takeover' ? 'Taken over' : 'Listened to',
          `by ${userId}, ${inIndia(startedAt)} to ${inIndia(endedAt)}`,
        ]),
      ],
    },
  ]
}

function stampText(stamp: Verification['timeStamp']): string {
  if (stamp === null) return 'No time stamp authority has confirmed these records yet.'
  return `${stamp.authority} confirmed on ${inIndia(stamp.at)} that record ${stamp.seq} and all before it existed.`
}

function sealRow({ kind, seq, sealedAt, hash }: View): [string, string] {
  const name = kind === 'gate' ? 'Decision' : 'Outcome'
  return [`${name}, record ${seq}`, `${hash}, sealed on ${inIndia(sealedAt)}`]
}

const INDIA = new Intl.DateTimeFormat('en-IN', {
  timeZone: 'Asia/Kolkata',
  dateStyle: 'long',
  timeStyle: 'medium',
})

function inIndia(time: string | null | undefined): string {
  return time == null ? 'no' : `${INDIA.format(new Date(time))} IST`
}
