import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { openSafeResolver } from '../../media/base/public-address.js'
import { type BotReport, checkBot } from '../../media/byo/bot-check.js'
import { BOT_FORMATS, type BotFormat, type BotRate, type BotSpec } from '../../media/byo/bot-spec.js'
import { namedRate, supportsAudio } from '../../media/byo/dialects/bot-dialect.js'
import { BOT_TYPES, dialectOf } from '../../media/byo/dialects/registry.js'
import { oneOf, UsageError } from './options.js'

/**
 * Runs `parley bot-check URL`: calls a bot as the service would and prints the findings. Returns exit status
 * 0 when the bot is usable, else 1. Throws UsageError.
 */
export async function botCheckCommand(args: readonly string[]): Promise<number> {
  const { spec, allowPrivate } = parsed(args)
  process.stdout.write(
    `Calling ${spec.url} as ${spec.type}, ${spec.format} ${spec.sampleRate} Hz; this takes 8 s\n`,
  )
  const report = await checkBot({
    spec,
    clock: systemClock,
    lookup: openSafeResolver(allowPrivate).lookupOf('cli'),
    allowPrivate,
  })
  const findings = findingsOf(report)
  for (const { level, text } of findings) process.stdout.write(`  ${level.padEnd(4)}  ${text}\n`)
  const failed = findings.some(({ level }) => level === 'FAIL')
  process.stdout.write(failed ? 'The bot failed the check.\n' : 'The bot passed the check.\n')
  return failed ? 1 : 0
}

interface Finding {
  readonly level: 'ok' | 'note' | 'FAIL'
  readonly text: string
}

/** Lists the findings of a report in the order of the call. */
export function findingsOf(report: BotReport): readonly Finding[] {
  const {
    unreachable,
    connectMs,
    commands,
    violations: faults,
    audioMs,
    firstAudioMs: firstSoundMs,
    replyMs,
    closedWith,
  } = report
  if (unreachable !== null) return [{ level: 'FAIL', text: `cannot be reached: ${unreachable}` }]
  const findings: Finding[] = []
  const add = (level: Finding['level'], text: string): void => {
    findings.push({ level, text })
  }
  const ms = (value: number): string => `${Math.round(value)} ms`

  add(connectMs > 1_000 ? 'note' : 'ok', `connected in ${ms(connectMs)}; the limit is 5 s`)
  if (closedWith !== null) {
    const goodbye = [1000, 1001, 1005].includes(closedWith)
    add(
      goodbye ? 'note' : 'FAIL',
      `closed the connection with ${closedWith}: ${goodbye ? 'this hangs up the call' : 'this counts as a lost connection'}`,
    )
  }
  for (const fault of faults) add('FAIL', `invalid message: ${fault}`)
  for (const what of report.ignored) add('note', `ignored message: ${what}`)
  if (report.hungUpMs !== null) add('note', `hung up ${ms(report.hungUpMs)} after the call began`)
  const asked = Object.entries(commands).filter(([name, count]) => count > 0 && name !== 'fault')
  add('ok', `messages: ${asked.map(([name, count]) => `${count} ${name}`).join(', ') || 'none'}`)
  if (firstSoundMs === null) {
    add(audioMs > 0 ? 'note' : 'FAIL', audioMs > 0 ? 'sent only silence' : 'sent no audio')
  } else {
    add('ok', `sent ${(audioMs / 1000).toFixed(1)} s of audio, the first sound after ${ms(firstSoundMs)}`)
  }
  const [reply] = replyMs
  if (reply !== undefined) {
    add(reply > 1_500 ? 'note' : 'ok', `answered ${ms(reply)} after the caller stopped speaking`)
  } else if (firstSoundMs !== null) add('note', 'did not react after the caller spoke')
  if (report.underruns > 0)
    add('note', `its audio arrived too late ${report.underruns} times: playout had gaps`)
  if (report.maxQueuedMs > 1_000) {
    add('note', `queued up to ${ms(report.maxQueuedMs)} of audio: send clear when the caller interrupts`)
  }
  return findings
}

const OPTIONS = {
  type: { type: 'string', default: 'static' },
  format: { type: 'string' },
  rate: { type: 'string' },
  secret: { type: 'string' },
  param: { type: 'string', multiple: true },
  private: { type: 'boolean', default: false },
} as const

/** Returns the bot that the arguments describe. Throws UsageError. */
export function parsed(args: readonly string[]): { readonly spec: BotSpec; readonly allowPrivate: boolean } {
  const { values, positionals } = readArguments(args)
  const [url, more] = positionals
  if (url === undefined || more !== undefined) throw new UsageError('parley bot-check URL [options]')
  const type = oneOf('--type', values.type, BOT_TYPES)
  const dialect = dialectOf(type)
  const [offer] = dialect.audio
  const format: BotFormat =
    values.format === undefined ? (offer?.[0] ?? 'mulaw') : oneOf('--format', values.format, BOT_FORMATS)
  if (!URL.canParse(url)) throw new UsageError(`${url} is not a URL`)
  const named = namedRate(dialect, url)
  const sampleRate = Number(values.rate ?? named ?? 8000) as BotRate
  if (named !== null && named !== sampleRate)
    throw new UsageError(`--rate is ${sampleRate}, the URL names ${named} Hz`)
  if (!supportsAudio(dialect, { format, sampleRate })) {
    const offered = dialect.audio.map(([name, hz]) => `${name} ${hz.join('|')}`).join(', ')
    throw new UsageError(`bots of type ${type} support ${offered}`)
  }
  const unsaid = [
    ...(dialect.authenticate === null && values.secret !== undefined ? ['--secret'] : []),
    ...(dialect.parameters === 'none' && values.param !== undefined ? ['--param'] : []),
  ]
  if (unsaid.length > 0) throw new UsageError(`bots of type ${type} do not support ${unsaid.join(' and ')}`)
  return {
    allowPrivate: values.private,
    spec: {
      type,
      url,
      format,
      sampleRate,
      secret: values.secret ?? null,
      customParameters: Object.fromEntries((values.param ?? []).map(pairOf)),
      callId: randomUUID(),
      accountId: randomUUID(),
      direction: 'inbound',
      from: '+919000000001',
      to: '+919000000100',
      maxCallSeconds: 60,
    },
  }
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError('--param must have the form name=value')
  return [text.slice(0, at), text.slice(at + 1)]
}
