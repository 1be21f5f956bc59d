import {
  Alert,
  Button,
  Card,
  Group,
  NativeSelect,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { hasMicrophoneAccess, type Phone } from '../phone/phone.js'
import { type PhoneState, usePhone } from '../phone/usePhone.js'
import { useSession } from '../session.js'
import { Problem } from './Problem.js'
import { Heard } from './TestPanel.js'

const DRAFT = 'draft'
const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#']
const METER_MS = 100

/** Talks to the agent by the microphone of this device. */
export function TalkPanel({ agent }: { readonly agent: Result<'readAgent'> }) {
  const t = useTranslations('talk')
  const { api, canWrite, environment } = useSession()
  const { state, phone, start } = usePhone()
  const { publishedVersion: live, hasUnpublishedChanges } = agent
  const [chosen, setChosen] = useState(live === null || hasUnpublishedChanges ? DRAFT : String(live))
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [callId, setCallId] = useState<string | null>(null)
  if (!canWrite) return null
  const talk = () =>
    start(async () => {
      const version = chosen === DRAFT ? DRAFT : Number(chosen)
      const ticket = await api.requestBrowserCall({
        body: { purpose: 'talk', agentId: agent.id, version, variables: { ...values } },
      })
      setCallId(ticket.callId)
      return ticket
    })
  return (
    <Card withBorder component="section" aria-label={t('title')}>
      <Stack>
        <Title order={2} size="h4">
          {t('title')}
        </Title>
        {environment === 'live' && <Text size="sm">{t('costs')}</Text>}
        {state.kind === 'idle' && (
          <>
            {!hasMicrophoneAccess() && <Alert color="orange">{t('problem.insecure')}</Alert>}
            <PhoneOutcome state={state} />
            <NativeSelect
              label={t('version')}
              value={chosen}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              data={[
                { value: DRAFT, label: t('draft') },
                ...(live === null ? [] : [{ value: String(live), label: t('live', { version: live }) }]),
              ]}
            />
            {agent.inputVariables.map(({ name, required }) => (
              <TextInput
                key={name}
                label={name}
                required={required}
                value={values[name] ?? ''}
                onChange={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
              />
            ))}
            <Group>
              <Button onClick={() => void talk()} disabled={!hasMicrophoneAccess()}>
                {t('start')}
              </Button>
            </Group>
          </>
        )}
        {state.kind !== 'idle' && (
          <InCall state={state.kind} connected={state.kind !== 'talking' || state.connected} phone={phone} />
        )}
        {callId !== null && state.kind !== 'starting' && state.kind !== 'calling' && <Heard id={callId} />}
      </Stack>
    </Card>
  )
}

/** Why there is no call, or how the last one ended. */
export function PhoneOutcome({ state }: { readonly state: Extract<PhoneState, { kind: 'idle' }> }) {
  const t = useTranslations('talk')
  return (
    <>
      {state.problem !== null && <Alert color="red">{t(`problem.${state.problem}`)}</Alert>}
      {state.error !== null && <Problem error={state.error} />}
      <Ended end={state.end} />
    </>
  )
}

function Ended({ end }: Pick<Extract<PhoneState, { kind: 'idle' }>, 'end'>) {
  const t = useTranslations('talk')
  if (end === null) return null
  if (end.kind === 'refused') {
    const known = `refused.${end.code}` as const
    const text = t.has(known as never) ? t(known as never) : t('refused.other', { code: end.code })
    return <Alert color="red">{text}</Alert>
  }
  return end.kind === 'lost' ? (
    <Alert color="red">{t('lost')}</Alert>
  ) : (
    <Text size="sm" role="status">
      {t(end.kind === 'hung_up' ? 'hungUp' : 'farEnd')}
    </Text>
  )
}

function InCall(props: {
  readonly state: 'starting' | 'calling' | 'talking'
  readonly connected: boolean
  readonly phone: RefObject<Phone | null>
}) {
  const t = useTranslations('talk')
  const { state, connected, phone } = props
  const [keys, setKeys] = useState(false)
  return (
    <>
      <Text size="sm" role="status">
        {t(connected ? state : 'reconnecting')}
      </Text>
      {state === 'talking' && <Meters phone={phone} them={t('agent')} />}
      <Group gap="sm">
        {state === 'talking' && (
          <>
            <MuteButton phone={phone} />
            <Button variant="default" aria-expanded={keys} onClick={() => setKeys(!keys)}>
              {t('keys')}
            </Button>
          </>
        )}
        {state !== 'starting' && (
          <Button color="red.9" onClick={() => phone.current?.hangUp()}>
            {t('hangUp')}
          </Button>
        )}
      </Group>
      {keys && (
        <SimpleGrid cols={3} spacing="xs">
          {KEYS.map((key) => (
            <Button key={key} variant="default" onClick={() => phone.current?.press(key)}>
              {key}
            </Button>
          ))}
        </SimpleGrid>
      )}
    </>
  )
}

/** Stops what the microphone sends. */
export function MuteButton({ phone }: { readonly phone: RefObject<Phone | null> }) {
  const t = useTranslations('talk')
  const [muted, setMuted] = useState(false)
  return (
    <Button
      variant="default"
      aria-pressed={muted}
      onClick={() => {
        phone.current?.mute(!muted)
        setMuted(!muted)
      }}
    >
      {t(muted ? 'unmute' : 'mute')}
    </Button>
  )
}

/** How loud both sides are. The elements are written directly: ten renders a second would cost more than the call. */
export function Meters({ phone, them }: { readonly phone: RefObject<Phone | null>; readonly them: string }) {
  const t = useTranslations('talk')
  const mine = useRef<HTMLMeterElement>(null)
  const theirs = useRef<HTMLMeterElement>(null)
  useEffect(() => {
    const timer = setInterval(() => {
      const levels = phone.current?.levels()
      if (levels === undefined) return
      if (mine.current !== null) mine.current.value = levels.mine
      if (theirs.current !== null) theirs.current.value = levels.theirs
    }, METER_MS)
    return () => clearInterval(timer)
  }, [phone])
  return (
    <Stack gap={4}>
      <Text size="sm" component="label">
        {t('you')} <meter ref={mine} min={0} max={1} className="level" />
      </Text>
      <Text size="sm" component="label">
        {them} <meter ref={theirs} min={0} max={1} className="level" />
      </Text>
    </Stack>
  )
}
