import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'

type Segment = Result<'readTranscript'>['segments'][number]
type Timeline = Result<'readCallTimeline'>

const ROLES = ['agent', 'caller', 'human_agent', 'tool', 'system'] as const
type Role = (typeof ROLES)[number]

const isRole = (role: string): role is Role => (ROLES as readonly string[]).includes(role)

/** What was said in a call so far. */
export function Transcript({
  call,
}: {
  readonly call: Pick<Result<'readCall'>, 'id' | 'status' | 'hasTranscript'>
}) {
  const transcript = useTranscript(call)
  if (!call.hasTranscript) return null
  return (
    <Loaded query={transcript} height={160}>
      {({ segments }) => <Lines segments={segments} atMs={null} seek={null} live={call.status !== 'ended'} />}
    </Loaded>
  )
}

function useTranscript(call: Pick<Result<'readCall'>, 'id' | 'status' | 'hasTranscript'>) {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('transcript', call.id, call.status === 'ended'),
    queryFn: () => api.readTranscript({ id: call.id }),
    enabled: call.hasTranscript,
    placeholderData: keepPreviousData,
  })
}

/** The course of a call: waveform, legs and the latency of each reply. */
export function useTimeline({ id, status, hasRecording }: Result<'readCall'>) {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('call', id, 'timeline', status, hasRecording),
    queryFn: () => api.readCallTimeline({ id }),
    placeholderData: keepPreviousData,
  })
}

/** The course of a call on one time axis, the transcript below it, and the recording, which both follow. */
export function Conversation({ call }: { readonly call: Result<'readCall'> }) {
  const t = useTranslations('call')
  const player = useRef<HTMLAudioElement>(null)
  const [atMs, setAtMs] = useState<number | null>(null)
  const transcript = useTranscript(call)
  const timeline = useTimeline(call)
  const seek = (ms: number): void => {
    setAtMs(ms)
    if (player.current !== null) player.current.currentTime = ms / 1000
  }
  return (
    <Stack gap="sm" component="section" aria-label={t('timeline')}>
      {call.hasRecording && <Player id={call.id} player={player} onTime={setAtMs} />}
      {!call.hasTranscript && <Text>{t('noTranscript')}</Text>}
      {call.hasTranscript && (
        <Loaded query={transcript} height={240}>
          {({ segments }) => (
            <>
              <Axis segments={segments} timeline={timeline.data ?? null} atMs={atMs} seek={seek} />
              <Title order={2} size="h4">
                {t('transcript')}
              </Title>
              <Lines segments={segments} atMs={atMs} seek={seek} live={call.status !== 'ended'} />
            </>
          )}
        </Loaded>
      )}
    </Stack>
  )
}

function Player(props: {
  readonly id: string
  readonly player: { readonly current: HTMLAudioElement | null }
  readonly onTime: (ms: number) => void
}) {
  const t = useTranslations('call')
  const { api } = useSession()
  // The address is valid for ten minutes, so that the recording loads when it is asked for.
  const load = useMutation({ mutationFn: () => api.readRecording({ id: props.id }) })
  if (load.error !== null) return <Problem error={load.error} retry={() => load.mutate()} />
  if (load.data === undefined) {
    return (
      <Group>
        <Button variant="default" onClick={() => load.mutate()} loading={load.isPending}>
          {t('play')}
        </Button>
      </Group>
    )
  }
  return (
    // biome-ignore lint/a11y/useMediaCaption: the transcript below is the text of the recording
    <audio
      controls
      ref={props.player as { current: HTMLAudioElement | null }}
      src={new URL(load.data.url).pathname}
      aria-label={t('recording')}
      style={{ width: '100%' }}
      onTimeUpdate={({ currentTarget }) => props.onTime(currentTarget.currentTime * 1000)}
    />
  )
}

interface TimeProps {
  readonly segments: readonly Segment[]
  /** Place of the play head. Null before the first play. */
  readonly atMs: number | null
  /** Null when there is nothing to play. */
  readonly seek: ((ms: number) => void) | null
}

function useRole(): (role: string) => string {
  const t = useTranslations('call')
  return (role) => (isRole(role) ? t(role) : role)
}

/** Distances of the marks below the axis, ms. The first with at most ten marks is taken. */
const STEPS_MS = [5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000]
const MOST_MARKS = 10

interface AxisProps extends TimeProps {
  /** Null until it is loaded. The turns are shown without it. */
  readonly timeline: Timeline | null
  readonly seek: (ms: number) => void
}

function Axis({ segments, timeline, atMs, seek }: AxisProps) {
  const t = useTranslations('call')
  const { clock } = useFormat()
  const roleOf = useRole()
  const endMs = Math.max(1000, timeline?.durationMs ?? 0, ...segments.map((segment) => segment.endMs))
  const percent = (ms: number): string => `${(100 * ms) / endMs}%`
  const step = STEPS_MS.find((ms) => endMs / ms <= MOST_MARKS) ?? 3_600_000
  const marks = Array.from({ length: Math.floor(endMs / step) + 1 }, (_, index) => index * step)
  return (
    <div className="timeline">
      {timeline?.waveform != null && <Waveform {...timeline.waveform} endMs={endMs} />}
      {timeline?.legs
        .filter(({ party }) => party === 'person')
        .map(({ label, startMs, endMs: until }) => (
          <div
            key={startMs}
            className="leg"
            title={label}
            style={{ left: percent(startMs), width: percent((until ?? endMs) - startMs) }}
          />
        ))}
      {timeline?.replies.map(({ speechEndMs, latencyMs }) => (
        <div
          key={speechEndMs}
          className="wait"
          title={`${latencyMs} ms`}
          style={{ left: percent(speechEndMs), width: percent(latencyMs) }}
        />
      ))}
      {segments.map(({ index, role, startMs, endMs: until, text, interrupted }) => (
        <button
          type="button"
          key={index}
          // The transcript has the same in a list: the keyboard does not visit both.
          tabIndex={-1}
          className={`turn ${role} ${interrupted ? 'cut' : ''}`}
          style={{ left: percent(startMs), width: percent(Math.max(200, until - startMs)) }}
          title={`${roleOf(role)} ${clock(startMs / 1000)}: ${text}`}
          aria-label={t('seek', { time: clock(startMs / 1000) })}
          onClick={() => seek(startMs)}
        />
      ))}
      <div className="marks" aria-hidden="true">
        {marks.map((ms) => (
          <span key={ms} style={{ left: percent(ms) }}>
            {clock(ms / 1000)}
          </span>
        ))}
      </div>
      {atMs !== null && <div className="head-line" style={{ left: percent(Math.min(atMs, endMs)) }} />}
    </div>
  )
}

/** Both voices, each around the middle of its row. */
function Waveform({
  pixelsPerSecond,
  caller,
  agent,
  endMs,
}: NonNullable<Timeline['waveform']> & { readonly endMs: number }) {
  const pixels = Math.max(1, (endMs / 1000) * pixelsPerSecond)
  const shape = (levels: readonly number[]): string => {
    const above = levels.map((level, at) => `${at},${128 - level}`)
    const below = levels.map((level, at) => `${at},${128 + level}`).reverse()
    return [...above, ...below].join(' ')
  }
  const voices = [
    ['caller', caller],
    ['agent', agent],
  ] as const
  return voices.map(([voice, levels]) => (
    <svg
      key={voice}
      className={`wave ${voice}`}
      viewBox={`0 0 ${pixels} 256`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polygon points={shape(levels)} />
    </svg>
  ))
}

function Lines({ segments, atMs, seek, live }: TimeProps & { readonly live: boolean }) {
  const t = useTranslations('call')
  const { clock } = useFormat()
  const roleOf = useRole()
  const end = useRef<HTMLDivElement>(null)
  const { length } = segments
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line of a running call scrolls into view
  useEffect(() => {
    if (live) end.current?.scrollIntoView({ block: 'nearest' })
  }, [length, live])
  return (
    <div aria-live={live ? 'polite' : 'off'}>
      {segments.map(({ index, role, startMs, endMs, text, interrupted, language }) => (
        <div
          key={index}
          className={`segment ${atMs !== null && atMs >= startMs && atMs < endMs ? 'now' : ''}`}
        >
          {seek === null ? (
            <Text size="sm">{clock(startMs / 1000)}</Text>
          ) : (
            <Button
              variant="subtle"
              size="compact-sm"
              fw={400}
              c="var(--mantine-color-text)"
              onClick={() => seek(startMs)}
              aria-label={t('seek', { time: clock(startMs / 1000) })}
            >
              {clock(startMs / 1000)}
            </Button>
          )}
          <Text size="sm" fw={700}>
            {roleOf(role)}
          </Text>
          <Text size="sm" component="p" m={0} lang={language ?? undefined}>
            {text}
            {interrupted && ` (${t('interrupted')})`}
          </Text>
        </div>
      ))}
      <div ref={end} />
    </div>
  )
}
