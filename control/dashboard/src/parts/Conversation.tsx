import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'

type Segment = Result<'readTranscript'>['segments'][number]

const LIVE_MS = 2_000
const ROLES = ['agent', 'caller', 'human_agent', 'tool', 'system'] as const
type Role = (typeof ROLES)[number]

const isRole = (role: string): role is Role => (ROLES as readonly string[]).includes(role)

/** The course of a call on one time axis, the transcript below it, and the recording, which both follow. */
export function Conversation({ call }: { readonly call: Result<'readCall'> }) {
  const t = useTranslations('call')
  const { api } = useSession()
  const key = useKey()
  const player = useRef<HTMLAudioElement>(null)
  const [atMs, setAtMs] = useState<number | null>(null)
  const transcript = useQuery({
    queryKey: key('transcript', call.id),
    queryFn: () => api.readTranscript({ id: call.id }),
    enabled: call.hasTranscript,
    refetchInterval: call.status === 'ended' ? false : LIVE_MS,
  })
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
              <Axis segments={segments} atMs={atMs} seek={seek} />
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
  readonly seek: (ms: number) => void
}

function useRole(): (role: string) => string {
  const t = useTranslations('call')
  return (role) => (isRole(role) ? t(role) : role)
}

function Axis({ segments, atMs, seek }: TimeProps) {
  const t = useTranslations('call')
  const { clock } = useFormat()
  const roleOf = useRole()
  const spoken = segments.filter(
    ({ role }) => role === 'agent' || role === 'caller' || role === 'human_agent',
  )
  const endMs = Math.max(1000, ...spoken.map((segment) => segment.endMs))
  const percent = (ms: number): string => `${(100 * ms) / endMs}%`
  return (
    <div className="timeline">
      {spoken.map(({ index, role, startMs, endMs: until, text, interrupted }) => (
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
      {atMs !== null && (
        <div
          style={{
            position: 'absolute',
            left: percent(Math.min(atMs, endMs)),
            top: 0,
            bottom: 0,
            borderLeft: '2px solid currentColor',
          }}
        />
      )}
    </div>
  )
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
          <Button
            variant="subtle"
            size="compact-sm"
            color="cyan.9"
            c="var(--mantine-color-text)"
            onClick={() => seek(startMs)}
            aria-label={t('seek', { time: clock(startMs / 1000) })}
          >
            {clock(startMs / 1000)}
          </Button>
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
