import { Alert, Button, Card, Group, NativeSelect, Stack, Text, Textarea, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { type Ending, type Levels, listenTo } from '../listening.js'
import { hasMicrophoneAccess } from '../phone/phone.js'
import { usePhone } from '../phone/usePhone.js'
import { useKey, useSession } from '../session.js'
import { Dialog, Form } from './Dialog.js'
import { hasSingleKeys } from './keys.js'
import { useAction } from './List.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'
import { Facts } from './Rows.js'
import { Meters, MuteButton, PhoneOutcome } from './TalkPanel.js'

type Monitor = Item<'listCallMonitors'>

/** Returns the rights of the user about live calls of this environment. There are none until the settings are read. */
export function useMonitoring(): { readonly mayListen: boolean; readonly mayTakeOver: boolean } {
  const { api, canManage, canWrite, environment } = useSession()
  const key = useKey()
  const { data } = useQuery({ queryKey: key('organization'), queryFn: () => api.readOrganization() })
  const set = data?.monitoring[environment] ?? 'off'
  const entitled = canManage || (canWrite && data?.monitoring.developers === true)
  return {
    mayListen: entitled && set !== 'off',
    mayTakeOver: entitled && set === 'listen_and_takeover',
  }
}

/** Returns what the key asks for that was pressed in a part of the page, L or T, or null. */
export function monitorKey(event: KeyboardEvent): 'listen' | 'takeOver' | null {
  if (!hasSingleKeys() || event.ctrlKey || event.metaKey || event.altKey) return null
  if (event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName))
    return null
  const pressed = event.key.toLowerCase()
  return pressed === 'l' ? 'listen' : pressed === 't' ? 'takeOver' : null
}

/** Plays a running call while it is shown. */
export function Listener(props: {
  readonly callId: string
  /** The name or number of the person on the call. */
  readonly name: string
  readonly close: () => void
}) {
  const t = useTranslations('monitor')
  const { callId, name, close } = props
  const { api } = useSession()
  const [state, setState] = useState<'connecting' | 'listening' | Ending>('connecting')
  const [error, setError] = useState<Error | null>(null)
  const [levels, setLevels] = useState<Levels>({ caller: 0, agent: 0 })
  useEffect(
    () =>
      listenTo({
        ...{ api, callId, levels: setLevels, ended: setState, failed: setError },
        started: () => setState('listening'),
      }),
    [api, callId],
  )
  const heard = state === 'connecting' || state === 'listening'
  return (
    <Card withBorder component="section" aria-label={t('listening')}>
      <Group justify="space-between">
        <Stack gap={4}>
          <Text size="sm" role="status">
            {t(`state.${state}`, { name })}
          </Text>
          {heard && (
            <Group gap="lg">
              <Meter label={t('caller')} level={levels.caller} />
              <Meter label={t('agent')} level={levels.agent} />
            </Group>
          )}
        </Stack>
        <Button variant="default" onClick={close}>
          {heard ? t('stop') : t('close')}
        </Button>
      </Group>
      {error !== null && <Problem error={error} />}
    </Card>
  )
}

/** How loud a side is, on a scale of 60 dB. */
function Meter({ label, level }: { readonly label: string; readonly level: number }) {
  const full = level <= 0 ? 0 : Math.max(0, Math.min(1, 1 + Math.log10(level) / 3))
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="xs">{label}</Text>
      <meter className="level" min={0} max={1} value={full} aria-hidden="true" data-level={level} />
    </Group>
  )
}

/** The takeover in a window. `byBrowser` takes the call over with the microphone of this page. */
export function TakeOverDialog(props: {
  readonly callId: string
  readonly close: () => void
  readonly byBrowser: () => void
}) {
  const t = useTranslations('monitor')
  const { callId, close, byBrowser } = props
  return (
    <Dialog title={t('takeOver')} close={close}>
      <TakeOver
        callId={callId}
        byBrowser={() => {
          close()
          byBrowser()
        }}
      />
    </Dialog>
  )
}

/** The takeover by this page, of one call at a time. It ends with the part of the page that uses it. */
export function useBrowserTakeOver() {
  const { api } = useSession()
  const { state, phone, start } = usePhone()
  const [call, setCall] = useState<{ readonly callId: string; readonly name: string } | null>(null)
  return {
    call,
    state,
    phone,
    begin: (callId: string, name: string): void => {
      if (state.kind !== 'idle') return
      setCall({ callId, name })
      void start(() => api.requestBrowserCall({ body: { purpose: 'takeover', callId } }))
    },
    close: () => setCall(null),
  }
}

/** The call that this page takes over, until the user has seen how that ended. */
export function BrowserTakeOver({ takeOver }: { readonly takeOver: ReturnType<typeof useBrowserTakeOver> }) {
  return takeOver.call === null ? null : <TakenCall {...takeOver} {...takeOver.call} />
}

function TakenCall(
  props: ReturnType<typeof useBrowserTakeOver> & { readonly callId: string; readonly name: string },
) {
  const t = useTranslations('monitor')
  const tTalk = useTranslations('talk')
  const { callId, name, state, phone, close } = props
  const { data } = useMonitors(callId)
  const latest = data?.items.find(({ mode }) => mode === 'takeover')
  const has = latest !== undefined && latest.endedAt === null && latest.startedAt !== null
  const outcome = latest === undefined ? null : outcomeOf(t, latest)
  if (state.kind === 'idle') {
    // An end without an error is told by how the takeover ended.
    const told = state.end?.kind === 'hung_up' || state.end?.kind === 'far_end'
    return (
      <Card withBorder component="section" aria-label={t('takeOver')}>
        <Stack>
          {told ? (
            <Text size="sm" role="status">
              {outcome === null ? t('over') : t('last', { outcome })}
            </Text>
          ) : (
            <PhoneOutcome state={state} />
          )}
          <Group>
            <Button variant="default" onClick={close}>
              {t('close')}
            </Button>
          </Group>
        </Stack>
      </Card>
    )
  }
  const { kind } = state
  const status =
    kind === 'starting' ? tTalk('starting') : has ? t('takenHere', { name }) : t('joining', { name })
  return (
    <Card withBorder component="section" aria-label={t('takeOver')}>
      <Stack>
        {kind === 'talking' && !state.connected && <Text size="sm">{tTalk('reconnecting')}</Text>}
        {kind === 'talking' && (
          <>
            <Meters phone={phone} them={t('caller')} />
            <Group>
              <MuteButton phone={phone} />
            </Group>
          </>
        )}
        {kind === 'starting' ? (
          <Text size="sm" role="status">
            {status}
          </Text>
        ) : (
          <Release callId={callId} begun={has} status={status} />
        )}
      </Stack>
    </Card>
  )
}

function useMonitors(callId: string) {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('call', callId, 'monitors'),
    queryFn: () => api.listCallMonitors({ id: callId, query: { limit: 50 } }),
  })
}

/** Takes a call over from its agent, shows how far that is, and gives it back. */
function TakeOver({ callId, byBrowser }: { readonly callId: string; readonly byBrowser: () => void }) {
  const t = useTranslations('monitor')
  const tTalk = useTranslations('talk')
  const monitors = useMonitors(callId)
  return (
    <Loaded query={monitors}>
      {({ items }) => {
        const latest = items.find(({ mode }) => mode === 'takeover')
        if (latest !== undefined && latest.endedAt === null)
          return (
            <Release
              callId={callId}
              begun={latest.startedAt !== null}
              status={t(latest.startedAt === null ? 'calling' : 'taken')}
            />
          )
        const outcome = latest === undefined ? null : outcomeOf(t, latest)
        return (
          <Stack>
            {outcome !== null && <Text size="sm">{t('last', { outcome })}</Text>}
            <Text size="sm">{t('browserHelp')}</Text>
            {!hasMicrophoneAccess() && <Alert color="orange">{tTalk('problem.insecure')}</Alert>}
            <Group>
              <Button onClick={byBrowser} disabled={!hasMicrophoneAccess()}>
                {t('byBrowser')}
              </Button>
            </Group>
            <Choose callId={callId} />
          </Stack>
        )
      }}
    </Loaded>
  )
}

/** Chooses whose telephone takes the call. */
function Choose({ callId }: { readonly callId: string }) {
  const t = useTranslations('monitor')
  const { api, environment } = useSession()
  const key = useKey()
  const [chosen, setChosen] = useState('')
  const destinations = useQuery({
    queryKey: key('destinations', 'verified'),
    queryFn: async () => {
      const { items } = await api.listTransferDestinations({ query: { limit: 100 } })
      return items.filter(({ status }) => status === 'verified')
    },
  })
  const start = useAction((destinationId: string) =>
    api.startTakeover({ id: callId, body: { destinationId } }),
  )
  return (
    <Loaded query={destinations}>
      {(items) => {
        const [first] = items
        if (first === undefined)
          return (
            <Text size="sm">
              {t('noDestination')}{' '}
              <Link to="/$environment/destinations" params={{ environment }}>
                {t('destinations')}
              </Link>
            </Text>
          )
        const id = chosen || first.id
        return (
          <Form action={{ ...start, mutate: () => start.mutate(id) }} submit={t('byTelephone')}>
            <Text size="sm">{t('takeOverHelp')}</Text>
            <NativeSelect
              label={t('telephone')}
              value={id}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              data={items.map(({ id, label, e164 }) => ({ value: id, label: `${label}, ${e164}` }))}
            />
          </Form>
        )
      }}
    </Loaded>
  )
}

/** Gives the caller back, or gives a takeover up that was not answered. */
function Release(props: { readonly callId: string; readonly begun: boolean; readonly status: string }) {
  const { callId, begun, status } = props
  const t = useTranslations('monitor')
  const { api } = useSession()
  const [message, setMessage] = useState('')
  const said = message.trim()
  const release = useAction(() =>
    api.releaseTakeover({ id: callId, body: said === '' ? {} : { message: said } }),
  )
  return (
    <Form action={release} submit={begun ? t('giveBack') : t('giveUp')}>
      <Text size="sm" role="status">
        {status}
      </Text>
      {begun && (
        <Textarea
          label={t('message')}
          description={t('messageHelp')}
          maxLength={400}
          autosize
          minRows={2}
          value={message}
          onChange={({ currentTarget }) => setMessage(currentTarget.value)}
        />
      )}
    </Form>
  )
}

/** Offers listening and taking over on the page of a call, and lists who did. Without the right and without a list it is empty. */
export function MonitorPart(props: {
  readonly callId: string
  readonly name: string
  readonly running: boolean
}) {
  const t = useTranslations('monitor')
  const { callId, name, running } = props
  const { mayListen, mayTakeOver } = useMonitoring()
  const monitors = useMonitors(callId)
  const [listens, setListens] = useState(false)
  const [takes, setTakes] = useState(false)
  const takeOver = useBrowserTakeOver()
  const items = monitors.data?.items ?? []
  const acts = running && (mayListen || mayTakeOver)
  if (!acts && items.length === 0) return null
  const onKey = (event: KeyboardEvent): void => {
    const pressed = monitorKey(event)
    if (pressed === 'listen' && running && mayListen) setListens(!listens)
    if (pressed === 'takeOver' && running && mayTakeOver) setTakes(true)
  }
  return (
    <Card withBorder component="section" aria-label={t('title')} onKeyDown={onKey}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {t('title')}
        </Title>
        {acts && (
          <Group gap="xs">
            {mayListen && !listens && (
              <Button variant="default" aria-keyshortcuts="L" onClick={() => setListens(true)}>
                {t('listen')}
              </Button>
            )}
            {mayTakeOver && (
              <Button variant="default" aria-keyshortcuts="T" onClick={() => setTakes(true)}>
                {isTaken(items) ? t('giveBack') : t('takeOver')}
              </Button>
            )}
          </Group>
        )}
        <BrowserTakeOver takeOver={takeOver} />
        {listens && <Listener callId={callId} name={name} close={() => setListens(false)} />}
        {items.length > 0 && <History items={items} />}
        {takes && (
          <TakeOverDialog
            callId={callId}
            close={() => setTakes(false)}
            byBrowser={() => takeOver.begin(callId, name)}
          />
        )}
      </Stack>
    </Card>
  )
}

const isTaken = (items: readonly Monitor[]): boolean =>
  items.some(({ mode, endedAt }) => mode === 'takeover' && endedAt === null)

function History({ items }: { readonly items: readonly Monitor[] }) {
  const t = useTranslations('monitor')
  const { user } = useSession()
  const { time } = useFormat()
  return (
    <Facts
      facts={items.map((monitor): readonly [string, ReactNode] => {
        const { mode, userId, startedAt, createdAt, endedAt } = monitor
        const who = userId === user.id ? t('you') : t('member')
        const from = time(startedAt ?? createdAt)
        const until = endedAt === null ? t('now') : time(endedAt)
        const how = outcomeOf(t, monitor)
        return [
          mode === 'takeover' ? t('tookOver', { who }) : t('listened', { who }),
          how === null ? `${from} – ${until}` : `${from} – ${until}, ${how}`,
        ]
      })}
    />
  )
}

const OUTCOMES = [
  ...([
    'given_back',
    'left',
    'withdrawn',
    'no_answer',
    'busy',
    'declined',
    'call_ended',
    'carrier_error',
  ] as const),
  'destination_unavailable',
] as const

type Translate = ReturnType<typeof useTranslations<'monitor'>>

/** Returns how a takeover ended in words, or null. An outcome of a later release shows as it is. */
function outcomeOf(t: Translate, { outcome }: Monitor): string | null {
  if (outcome === null) return null
  const known = OUTCOMES.find((name) => name === outcome)
  return known === undefined ? outcome : t(`outcome.${known}`)
}
