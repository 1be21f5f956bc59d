import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { SipTrace } from '../../signalling/trace/sip-trace.js'
import type { TracedMessage } from '../../signalling/trace/trace-mask.js'
import { readTurnReport } from '../calls/report/turn-report.js'
import { turnTable } from '../calls/report/turn-table.js'
import type { Settings } from '../config/settings.js'
import type { Db } from '../db/database.js'
import { traceFolder, tracePath } from '../observe/sip-trace-files.js'
import { UsageError } from './options.js'

/** Columns between the two sides of the ladder. */
const WIDTH = 56

/**
 * Runs `parley trace`: prints the stored SIP messages of one call and its turn report. Throws EngineError
 * `storage_failed` when there is neither.
 */
export async function traceCommand(
  args: readonly string[],
  withDatabase: (work: (db: Db, settings: Settings) => Promise<void>) => Promise<number>,
): Promise<number> {
  const { callId, full, json } = parsed(args)
  return withDatabase(async (db, settings) => {
    const sip = await readSip(tracePath(traceFolder(settings.dataFolder), callId))
    const account = await readTurnReport(db, callId)
    if (sip === null && account.turns.length === 0 && account.usage === null) {
      throw new EngineError('storage_failed', `no trace of ${callId} (any more)`)
    }
    if (json) {
      process.stdout.write(`${JSON.stringify({ callId, ...sip, ...account })}\n`)
      return
    }
    const parts = [
      sip === null ? 'no SIP messages (any more)\n' : ladder(sip, full),
      ...(account.turns.length === 0 && account.usage === null ? [] : [turnTable(account)]),
    ]
    process.stdout.write(parts.join('\n'))
  })
}

/** Returns the stored messages, or null when there are none or they have expired. */
async function readSip(path: string | null): Promise<SipTrace | null> {
  if (path === null) return null
  try {
    return JSON.parse(await readFile(path, 'utf8')) as SipTrace
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new EngineError('storage_failed', `${path}: ${errorText(error)}`, { cause: error })
  }
}

function parsed(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        full: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
      allowPositionals: true,
    })
    const [callId, more] = positionals
    if (callId === undefined || more !== undefined) throw new UsageError('parley trace CALL_ID')
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(callId)) throw new UsageError('a call id is letters, digits, _ and -')
    return { callId, ...values }
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}

/** Draws the messages in order, with the seconds since the first one on the left. */
export function ladder(trace: SipTrace, full: boolean): string {
  const { callId, sipCallId, trunkId, messages, dropped } = trace
  const began = messages[0]?.at ?? 0
  const lines = [
    `call ${callId}  Call-ID ${printable(sipCallId)}${trunkId === null ? '' : `  trunk ${trunkId}`}`,
    `${new Date(began).toISOString()}`,
    '',
    `${''.padEnd(10)}peer${'parley'.padStart(WIDTH - 2)}`,
  ]
  for (const message of messages) {
    lines.push(`${seconds(message.at - began)}  ${arrow(message)}  ${via(message)}`)
    if (full) lines.push(...whole(message))
  }
  if (dropped > 0) lines.push('', `${dropped} more messages were not kept`)
  return `${lines.join('\n')}\n`
}

function seconds(ms: number): string {
  return `+${(ms / 1000).toFixed(3)}`.padStart(8)
}

function arrow(message: TracedMessage): string {
  const text = ` ${label(message)} `.slice(0, WIDTH - 5)
  return message.direction === 'in'
    ? `|--${text.padEnd(WIDTH - 3, '-')}>|`
    : `|<-${text.padEnd(WIDTH - 3, '-')}-|`
}

/** Returns `INVITE sip:...` or `200 OK (INVITE)`, with the type of the body. */
function label({ startLine, headers, body }: TracedMessage): string {
  const cseq = headers.find(([name]) => /^cseq$/i.test(name))?.[1] ?? ''
  const answer = startLine.startsWith('SIP/2.0 ')
  const what = answer
    ? `${startLine.slice(8)} (${cseq.split(/\s+/)[1] ?? ''})`
    : startLine.replace(/ SIP\/2\.0$/, '')
  const type = headers.find(([name]) => /^(?:content-type|c)$/i.test(name))?.[1] ?? ''
  const inside = body === '' ? '' : ` [${type === 'application/sdp' ? 'SDP' : type}]`
  return printable(`${what.slice(0, WIDTH - 7 - inside.length)}${inside}`)
}

function via({ transport, peer }: TracedMessage): string {
  return printable(peer === '' ? 'made by our SIP server' : `${transport} ${peer}`)
}

function whole({ startLine, headers, body }: TracedMessage): string[] {
  const indented = [
    startLine,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : ['', ...body.replace(/\r?\n$/, '').split(/\r?\n/)]),
  ]
  return [...indented.map((line) => `${''.padEnd(12)}${printable(line)}`.trimEnd()), '']
}

/** Replaces control characters, so that text from peers cannot control the terminal. */
function printable(text: string): string {
  return [...text].map((character) => (isControl(character) ? '?' : character)).join('')
}

function isControl(character: string): boolean {
  const code = character.charCodeAt(0)
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}
