import type { Usage } from '../../../media/agent/conversation/usage-meter.js'
import type { TurnRecord } from '../../../media/agent/conversation-events.js'
import type { TurnReport } from './turn-report.js'

type Column = readonly [heading: string, cell: (record: TurnRecord) => string]

/**
 * Formats a moment in ms after the caller's last sound, or, for speech that answers no caller turn, after its
 * decision.
 */
function after(moment: (record: TurnRecord) => number | null): (record: TurnRecord) => string {
  return (record) => {
    const at = moment(record)
    return at === null ? '-' : String(Math.round(at - (record.offsetMs ?? record.decidedMs)))
  }
}

const COLUMNS: readonly Column[] = [
  ['turn', ({ turnId }) => String(turnId)],
  ['what', ({ kind, speculation }) => (speculation === 'kept' ? 'early' : kind)],
  ['ending', ({ ending }) => ending],
  ['onset', ({ onsetMs }) => seconds(onsetMs)],
  ['offset', ({ offsetMs, decidedMs }) => seconds(offsetMs ?? decidedMs)],
  ['vad', after(({ vadStopMs }) => vadStopMs)],
  ['text', after(({ sttFinalMs }) => sttFinalMs)],
  ['decided', after(({ decidedMs }) => decidedMs)],
  ['asked', after(({ modelRequestMs }) => modelRequestMs)],
  ['token', after(({ modelFirstTokenMs }) => modelFirstTokenMs)],
  ['sentence', after(({ firstSentenceMs }) => firstSentenceMs)],
  ['speak', after(({ ttsRequestMs }) => ttsRequestMs)],
  ['audio', after(({ ttsFirstAudioMs }) => ttsFirstAudioMs)],
  ['packet', after(({ firstPacketMs }) => firstPacketMs)],
  ['cut', ({ interruptedMs }) => seconds(interruptedMs)],
  ['end', ({ endMs }) => seconds(endMs)],
  ['tokens', ({ usage }) => tokens(usage)],
  ['chars', ({ usage }) => String(sum(usage.speech, ({ characters }) => characters))],
  ['heard', ({ usage }) => seconds(sum(usage.recognition, ({ audioMs }) => audioMs))],
  ['fails', ({ troubles }) => String(troubles)],
]

/** Formats the report as text: one row per utterance of the agent, then the usage of the whole call. */
export function turnTable({ turns, usage }: TurnReport): string {
  const rows = [
    COLUMNS.map(([heading]) => heading),
    ...turns.map((turn) => COLUMNS.map(([, cell]) => cell(turn))),
  ]
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  const lines = rows.map((row) => row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  '))
  return `${[
    ...lines,
    '',
    'onset, offset, cut, end, heard in seconds; vad to packet in ms after the offset; tokens in+out',
    ...(usage === null ? ['no totals: the conversation has not ended normally'] : totals(usage)),
  ].join('\n')}\n`
}

function totals({ recognition, models, speech }: Usage): string[] {
  return [
    ...recognition.map(({ vendor, model, audioMs }) => `${name(vendor, model)}: heard ${seconds(audioMs)} s`),
    ...models.map(({ vendor, model, requests, counted, promptTokens, completionTokens, sound }) => {
      const partial = counted === requests ? '' : `, tokens of ${counted} of them`
      const heard = sound
        ? ` (audio: ${sound.promptTokens} in, ${sound.completionTokens} out; ${sound.cachedTokens} cached)`
        : ''
      return `${name(vendor, model)}: ${requests} requests${partial}: ${promptTokens ?? '-'} in, ${completionTokens ?? '-'} out${heard}`
    }),
    ...speech.map(
      ({ vendor, model, requests, characters }) =>
        `${name(vendor, model)}: ${requests} requests, ${characters} characters spoken`,
    ),
  ]
}

function name(vendor: string, model: string | null): string {
  return model === null ? vendor : `${vendor} ${model}`
}

function tokens({ models }: Usage): string {
  if (models.length === 0) return '-'
  if (models.every(({ counted }) => counted === 0)) return '?'
  return `${sum(models, ({ promptTokens }) => promptTokens ?? 0)}+${sum(models, ({ completionTokens }) => completionTokens ?? 0)}`
}

function seconds(ms: number | null): string {
  return ms === null ? '-' : (ms / 1000).toFixed(2)
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}
