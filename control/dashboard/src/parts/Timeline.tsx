import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { MouseEvent } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Facts, Rows } from './Rows.js'

type Course = Result<'readCallTimeline'>

/** Reads the course of a call; a running call is read again while it goes on. */
export function useTimeline({ id, status, hasRecording }: Result<'readCall'>) {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('call', id, 'timeline', status, hasRecording),
    queryFn: () => api.readCallTimeline({ id }),
    placeholderData: keepPreviousData,
  })
}

/** Distances of the marks below the axis, ms. The first with at most eight marks is taken. */
const STEPS_MS = [5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000]
const MOST_MARKS = 8
/** Step of the keys of the play head (ms). */
const KEY_MS = 1_000

const LANES = ['caller', 'agent', 'replies', 'events', 'sip'] as const

/**
 * One time axis for the waveform, turns, replies, events and SIP of a call. A click plays from there. The picture is
 * hidden from screen readers: the transcript and the tables of the page tell the same.
 */
export function Timeline(props: {
  readonly course: Course
  /** Place of the play head. Null before the first play. */
  readonly atMs: number | null
  readonly seek: (ms: number) => void
}) {
  const { course, atMs, seek } = props
  const t = useTranslations('call')
  const { clock } = useFormat()
  const stepName = useStepName()
  const startMs = Math.min(0, ...course.legs.map((leg) => leg.startMs))
  const endMs = Math.max(1000, course.durationMs)
  const spanMs = endMs - startMs
  const left = (ms: number): string => `${(100 * (ms - startMs)) / spanMs}%`
  const wide = (fromMs: number, toMs: number): string => `${(100 * Math.max(0, toMs - fromMs)) / spanMs}%`
  const step = STEPS_MS.find((ms) => spanMs / ms <= MOST_MARKS) ?? 3_600_000
  // A mark at the end would have no room for its time.
  const marks = Array.from(
    { length: Math.floor((endMs - spanMs / MOST_MARKS) / step) + 1 },
    (_, index) => index * step,
  )
  const playFrom = ({ currentTarget, clientX }: MouseEvent): void => {
    const { left: edge, width } = currentTarget.getBoundingClientRect()
    seek(Math.max(0, Math.round(startMs + ((clientX - edge) / width) * spanMs)))
  }
  const { waveform } = course
  const wave = waveform === null ? null : placeOf((1000 * waveform.caller.length) / waveform.pixelsPerSecond)
  return (
    <>
      <div className="timeline">
        <div className="lanes" aria-hidden="true">
          {LANES.map((lane) => (
            <span key={lane} className={lane}>
              {t(`lanes.${lane}`)}
            </span>
          ))}
        </div>
        {/* The play head below does the same with keys. */}
        <div className="track" aria-hidden="true" onClick={playFrom}>
          {waveform !== null && wave !== null && (
            <>
              <Wave levels={waveform.caller} party="caller" place={wave} />
              <Wave levels={waveform.agent} party="agent" place={wave} />
            </>
          )}
          {course.turns.map(({ speaker, text, startMs: from, endMs: to, interruptedAtMs }, index) => (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end
              key={index}
              className={`turn ${speaker} ${interruptedAtMs === null ? '' : 'cut'}`}
              style={{ left: left(from), width: wide(from, to) }}
              title={`${clock(from / 1000)} ${text}`}
            />
          ))}
          {course.replies.map(({ speechEndMs, firstPacketMs, latencyMs }) => (
            <div
              key={speechEndMs}
              className="reply"
              style={{ left: left(speechEndMs), width: wide(speechEndMs, firstPacketMs) }}
              title={`${clock(speechEndMs / 1000)} ${latencyMs} ms`}
            />
          ))}
          {course.marks.map(({ atMs: at, kind, text }, index) => (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: two marks may have the same time and text
              key={index}
              className={`event ${kind}`}
              style={{ left: left(at) }}
              title={`${clock(at / 1000)} ${text}`}
            >
              {kind === 'key' ? text : SIGNS.get(kind)}
            </div>
          ))}
          {course.sip.map(({ atMs: at, party, step: name, status }) => (
            <div
              key={`${at} ${party} ${name}`}
              className={`event signal ${party}`}
              style={{ left: left(at) }}
              title={stepName(name, status)}
            />
          ))}
          {marks.map((ms) => (
            <span key={ms} className="mark" style={{ left: left(ms) }}>
              {clock(ms / 1000)}
            </span>
          ))}
          {atMs !== null && <div className="head-line" style={{ left: left(Math.min(atMs, endMs)) }} />}
        </div>
      </div>
      <input
        type="range"
        className="play-head"
        min={startMs}
        max={endMs}
        step={KEY_MS}
        value={Math.min(atMs ?? 0, endMs)}
        onChange={({ currentTarget }) => seek(Math.max(0, Number(currentTarget.value)))}
        aria-label={t('playHead')}
        aria-valuetext={clock((atMs ?? 0) / 1000)}
      />
    </>
  )

  function placeOf(durationMs: number) {
    return { left: left(0), width: wide(0, durationMs) }
  }
}

/** Levels are at most 128. */
const LOUDEST = 128

function Wave({
  levels,
  party,
  place,
}: {
  readonly levels: readonly number[]
  readonly party: 'caller' | 'agent'
  readonly place: { readonly left: string; readonly width: string }
}) {
  // Scaled to the loudest moment, because telephone audio is quiet.
  const scale = LOUDEST / levels.reduce((most, level) => Math.max(most, level), 16)
  const upper = levels.map((level, x) => `${x} ${Math.round(LOUDEST - level * scale)}`)
  const lower = levels.map((level, x) => `${x} ${Math.round(LOUDEST + level * scale)}`)
  if (upper.length === 0) return null
  return (
    <svg
      className={`wave ${party}`}
      viewBox={`0 0 ${levels.length} ${2 * LOUDEST}`}
      preserveAspectRatio="none"
      style={place}
      aria-hidden="true"
    >
      <path d={`M${upper.join('L')}L${lower.reverse().join('L')}Z`} />
    </svg>
  )
}

/** Signs of the marks on the axis. A key is its own sign. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['tool', '⚙'],
  ['failure', '!'],
  ['resumed', '↻'],
  ['answered_by', '☎'],
  ['agent_took_over', '⇄'],
  ['note', '✎'],
  ['monitor', '👂'],
])

const STEPS = ['invite', 'ringing', 'answered', 'hold', 'resume', 'ended'] as const

/** Returns what names a step of the signalling, with its SIP status. */
function useStepName(): (step: string, status: number | null) => string {
  const t = useTranslations('call')
  return (step, status) => {
    const known = STEPS.find((name) => name === step)
    const name = known === undefined ? step : t(`step.${known}`)
    return status === null ? name : `${name} (${status})`
  }
}

/** The steps of the signalling, in words. */
export function Signalling({ course }: { readonly course: Course }) {
  const t = useTranslations('call')
  const stepName = useStepName()
  return (
    <Facts
      facts={course.sip.map(({ atMs, party, step, status }, index) => {
        const who = t(party === 'caller' ? 'caller' : 'person')
        return [`${index + 1}. ${who}: ${stepName(step, status)}`, `${(atMs / 1000).toFixed(1)} s`] as const
      })}
    />
  )
}

/** The stages of each reply: ms after the end of the caller's speech. */
export function ReplyStages({ course }: { readonly course: Course }) {
  const t = useTranslations('call')
  const { clock } = useFormat()
  type Reply = Course['replies'][number]
  const stage = (
    name: 'heard' | 'decided' | 'model' | 'voice' | 'sound',
    of: (reply: Reply) => number | null,
  ) =>
    ({
      title: t(`stage.${name}`),
      align: 'right',
      cell: (reply: Reply) => {
        const at = of(reply)
        return at === null ? '–' : `${at - reply.speechEndMs} ms`
      },
    }) as const
  if (course.replies.length === 0) return null
  return (
    <Rows
      label={t('stages')}
      rows={course.replies}
      idOf={({ speechEndMs }) => String(speechEndMs)}
      columns={[
        { title: t('stage.at'), cell: ({ speechEndMs }) => clock(speechEndMs / 1000) },
        stage('heard', ({ stages }) => stages.sttFinalMs),
        stage('decided', ({ stages }) => stages.decidedMs),
        stage('model', ({ stages }) => stages.modelFirstTokenMs),
        stage('voice', ({ stages }) => stages.ttsFirstAudioMs),
        stage('sound', ({ firstPacketMs }) => firstPacketMs),
      ]}
    />
  )
}
