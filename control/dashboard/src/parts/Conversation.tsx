import { Button, Group, NativeSelect, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { useKeys } from './keys.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'
import { systemLine } from './system-line.js'
import { Timeline, type useTimeline } from './Timeline.js'

type Segment = Result<'readTranscript'>['segments'][number]

const ROLES = ['agent', 'caller', 'human_agent', 'tool', 'system'] as const
type Role = (typeof ROLES)[number]

const isRole = (role: string): role is Role => (ROLES as readonly string[]).includes(role)

/** Shows the words of a call so far. */
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

const SPEEDS = [1, 1.25, 1.5, 1.75, 2] as const
/** Step of the arrow keys (ms). */
const STEP_MS = 2_000
/** A turn that began so recently is the current one: the one before it is meant (ms). */
const TURN_MS = 500

/** The course of a call on one time axis, the transcript below it, and the recording, which both follow. */
export function Conversation({
  call,
  course,
}: {
  readonly call: Result<'readCall'>
  readonly course: ReturnType<typeof useTimeline>
}) {
  const t = useTranslations('call')
  const tPlayer = useTranslations('player')
  const { api } = useSession()
  const player = useRef<HTMLAudioElement>(null)
  const [atMs, setAtMs] = useState<number | null>(null)
  const transcript = useTranscript(call)
  // The address is valid for ten minutes, so that the recording loads when it is asked for.
  const load = useMutation({ mutationFn: () => api.readRecording({ id: call.id }) })
  const play = (): void => {
    const audio = player.current
    if (audio === null) return
    audio.currentTime = (atMs ?? 0) / 1000
    // A browser may refuse to start by itself: the controls of the player remain.
    audio.play().catch(() => audio.focus())
  }
  const seek = (ms: number): void => {
    setAtMs(ms)
    if (player.current !== null) {
      player.current.currentTime = ms / 1000
      player.current.play().catch(() => player.current?.focus())
    } else if (call.hasRecording && !load.isPending) load.mutate()
  }
  const [speed, setSpeed] = useState(1)
  useEffect(() => {
    if (player.current !== null) player.current.playbackRate = speed
  }, [speed])
  const move = (ms: number): void => {
    setAtMs(ms)
    if (player.current !== null) player.current.currentTime = ms / 1000
  }
  const starts = transcript.data?.segments.map(({ startMs }) => startMs) ?? []
  const now = atMs ?? 0
  const toTurn = (ms: number | undefined): void => {
    if (ms !== undefined) seek(ms)
  }
  useKeys({
    j: () => toTurn(starts.find((ms) => ms > now)),
    k: () => toTurn(starts.findLast((ms) => ms < now - TURN_MS)),
    ' ': () => {
      if (player.current === null) seek(now)
      else if (player.current.paused) play()
      else player.current.pause()
    },
    arrowleft: () => move(Math.max(0, now - STEP_MS)),
    arrowright: () => move(now + STEP_MS),
  })
  return (
    <Stack gap="sm" component="section" aria-label={t('timeline')}>
      <Loaded query={course} height={260}>
        {(data) => <Timeline course={data} atMs={atMs} seek={seek} />}
      </Loaded>
      {load.error !== null && <Problem error={load.error} retry={() => load.mutate()} />}
      {call.hasRecording && load.data === undefined && (
        <Group>
          <Button variant="default" onClick={() => load.mutate()} loading={load.isPending}>
            {t('play')}
          </Button>
        </Group>
      )}
      {load.data !== undefined && (
        // biome-ignore lint/a11y/useMediaCaption: the transcript below is the text of the recording
        <audio
          controls
          ref={player}
          src={new URL(load.data.url).pathname}
          aria-label={t('recording')}
          style={{ width: '100%' }}
          onLoadedMetadata={({ currentTarget }) => {
            currentTarget.playbackRate = speed
            if (atMs !== null) play()
          }}
          onTimeUpdate={({ currentTarget }) => setAtMs(currentTarget.currentTime * 1000)}
        />
      )}
      {load.data !== undefined && (
        <Group gap="sm" align="flex-end">
          <NativeSelect
            label={tPlayer('speed')}
            value={String(speed)}
            onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}
            data={SPEEDS.map((value) => ({ value: String(value), label: `${value}×` }))}
          />
          <Text size="xs">{tPlayer('keys')}</Text>
        </Group>
      )}
      {!call.hasTranscript && <Text>{t('noTranscript')}</Text>}
      {call.hasTranscript && (
        <Loaded query={transcript} height={240}>
          {({ segments }) => (
            <>
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

/** Returns a function that says a line of the service in the language of the page. Null if it is not known. */
function useSystemLine(): (role: string, text: string) => string | null {
  const t = useTranslations('call.line')
  return (role, text) => {
    const line = role === 'system' ? systemLine(text) : null
    if (line === null) return null
    return t(line.text, { ...line.values, part: line.part === null ? '' : t(`part.${line.part}`) })
  }
}

function Lines({ segments, atMs, seek, live }: TimeProps & { readonly live: boolean }) {
  const t = useTranslations('call')
  const { clock } = useFormat()
  const roleOf = useRole()
  const own = useSystemLine()
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
          <Text
            size="sm"
            component="p"
            m={0}
            lang={language ?? (role === 'system' && own(role, text) === null ? 'en' : undefined)}
          >
            {own(role, text) ?? text}
            {interrupted && ` (${t('interrupted')})`}
          </Text>
        </div>
      ))}
      <div ref={end} />
    </div>
  )
}
