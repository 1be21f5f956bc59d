import { Button, Checkbox, Drawer, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { CallState } from '../parts/CallState.js'
import { Transcript } from '../parts/Conversation.js'
import { Confirm } from '../parts/Dialog.js'
import { useFocusBack } from '../parts/focus.js'
import { hasSingleKeys } from '../parts/keys.js'
import { useAction } from '../parts/List.js'
import { useAgents } from '../parts/lookups.js'
import {
  BrowserTakeOver,
  Listener,
  monitorKey,
  TakeOverDialog,
  useBrowserTakeOver,
  useMonitoring,
} from '../parts/Monitor.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { useKey, useSession } from '../session.js'

type Call = Item<'listCalls'>

/** The states of calls that run, and how many of each are shown. */
const RUNNING = ['in_progress', 'ringing', 'initiated', 'queued'] as const
const MOST = 100
/** Time for which a call stays after its end (ms). */
const STAYS_MS = 30_000
/** Time for which a new call is marked (ms). */
const FRESH_MS = 2_000

/**
 * The calls that run now, the oldest first. The arrow keys move between them, Enter opens its words beside the list, L listens, T takes over, E ends it. A call that ended
 * stays for a moment; a frozen list stays as it is.
 */
export function LiveCalls() {
  const t = useTranslations('liveCalls')
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const { clock } = useFormat()
  const agents = useAgents()
  const now = useNow()
  const [frozen, setFrozen] = useState<readonly Call[] | null>(null)
  const [ending, setEnding] = useState<Call | null>(null)
  const [heard, setHeard] = useState<Call | null>(null)
  const [taken, setTaken] = useState<Call | null>(null)
  const { mayListen, mayTakeOver } = useMonitoring()
  const takeOver = useBrowserTakeOver()
  const tMonitor = useTranslations('monitor')
  const { call: shown } = useSearch({ from: '/$environment/live-calls' })
  const navigate = useNavigate({ from: '/$environment/live-calls' })
  const tDrawer = useTranslations('liveDrawer')
  const look = (id: string | null): void =>
    void navigate({ search: id === null ? {} : { call: id }, replace: true, resetScroll: false })
  const query = useQuery({
    queryKey: key('calls', 'live'),
    queryFn: async () => {
      const lists = await Promise.all(
        RUNNING.map((status) => api.listCalls({ query: { status, limit: MOST } })),
      )
      // A call that changed its state meanwhile is in two lists.
      return [...new Map(lists.flatMap(({ items }) => items).map((call) => [call.id, call])).values()]
    },
  })
  const kept = useEnded(query.data ?? [], now)
  const end = useAction(
    (id: string) => api.hangUpCall({ id }),
    () => setEnding(null),
  )
  const rows =
    frozen ?? [...(query.data ?? []), ...kept].sort((a, b) => a.createdAt.localeCompare(b.createdAt))
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const links = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>('tbody a')]
    const at = links.indexOf(document.activeElement as HTMLAnchorElement)
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus()
      return
    }
    const call = rows[at]
    if (event.key === 'Enter' && call !== undefined && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      look(call.id)
      return
    }
    const asked =
      hasSingleKeys() && event.key.toLowerCase() === 'e' && !event.ctrlKey && !event.metaKey && !event.altKey
    if (asked && canWrite && call !== undefined) setEnding(call)
    const pressed = monitorKey(event)
    if (call?.status !== 'in_progress') return
    if (pressed === 'listen' && mayListen) setHeard(call.id === heard?.id ? null : call)
    if (pressed === 'takeOver' && mayTakeOver) setTaken(call)
  }
  return (
    <Page
      title={t('title')}
      actions={
        <Checkbox
          label={t('freeze')}
          checked={frozen !== null}
          onChange={({ currentTarget }) => setFrozen(currentTarget.checked ? rows : null)}
        />
      }
    >
      <BrowserTakeOver takeOver={takeOver} />
      {heard !== null && (
        <Listener key={heard.id} callId={heard.id} name={heard.to} close={() => setHeard(null)} />
      )}
      <Loaded query={query} height={300}>
        {() =>
          rows.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            // Keyboard users scroll the region (WCAG 2.2, 2.1.1).
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs the focus
            <section className="wide card" aria-label={t('title')} tabIndex={0} onKeyDown={onKey}>
              <table className="rows">
                <thead>
                  <tr>
                    <th>{t('call')}</th>
                    <th>{t('agent')}</th>
                    <th>{t('state')}</th>
                    <th className="right">{t('clock')}</th>
                    <th aria-label={t('end')} />
                  </tr>
                </thead>
                <tbody>
                  {rows.map((call) => (
                    <tr key={call.id} className={classOf(call, now)}>
                      <td>
                        <Link to="/$environment/calls/$id" params={{ environment, id: call.id }}>
                          {call.from} → {call.to}
                        </Link>
                      </td>
                      <td>{agents?.find(({ id }) => id === call.agentId)?.name}</td>
                      <td>
                        <CallState {...call} />
                      </td>
                      <td className="right">{clock(secondsOf(call, now))}</td>
                      <td className="right">
                        <Group gap="xs" justify="flex-end" wrap="nowrap">
                          <Button
                            size="xs"
                            variant="default"
                            onClick={() => look(call.id)}
                            aria-label={tDrawer('openOf', { number: call.to })}
                          >
                            {tDrawer('open')}
                          </Button>
                          {mayListen && call.status === 'in_progress' && (
                            <Button
                              size="xs"
                              variant="default"
                              aria-pressed={call.id === heard?.id}
                              onClick={() => setHeard(call.id === heard?.id ? null : call)}
                              aria-label={tMonitor('listenTo', { number: call.to })}
                            >
                              {tMonitor('listen')}
                            </Button>
                          )}
                          {mayTakeOver && call.status === 'in_progress' && (
                            <Button
                              size="xs"
                              variant="default"
                              onClick={() => setTaken(call)}
                              aria-label={tMonitor('takeOverOf', { number: call.to })}
                            >
                              {tMonitor('takeOver')}
                            </Button>
                          )}
                          {canWrite && call.status !== 'ended' && (
                            <Button
                              size="xs"
                              variant="default"
                              onClick={() => setEnding(call)}
                              aria-label={t('endOf', { number: call.to })}
                            >
                              {t('end')}
                            </Button>
                          )}
                        </Group>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )
        }
      </Loaded>
      <Text size="sm">{tDrawer('keys')}</Text>
      {shown !== undefined && <CallDrawer id={shown} now={now} close={() => look(null)} />}
      {taken !== null && (
        <TakeOverDialog
          callId={taken.id}
          close={() => setTaken(null)}
          byBrowser={() => takeOver.begin(taken.id, taken.to)}
        />
      )}
      {ending !== null && (
        <Confirm
          title={t('end')}
          text={t('endText', { number: ending.to })}
          label={t('end')}
          action={{ ...end, mutate: () => end.mutate(ending.id) }}
          close={() => setEnding(null)}
        />
      )}
    </Page>
  )
}

/** Shows the words of a call as they are said, beside the list. */
function CallDrawer(props: { readonly id: string; readonly now: number; readonly close: () => void }) {
  const { id, now, close } = props
  useFocusBack()
  const t = useTranslations('liveDrawer')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const key = useKey()
  const { clock } = useFormat()
  const call = useQuery({ queryKey: key('call', id), queryFn: () => api.readCall({ id }) })
  return (
    <Drawer
      opened
      onClose={close}
      position="right"
      size="lg"
      title={call.data === undefined ? t('title') : `${call.data.from} → ${call.data.to}`}
      closeButtonProps={{ 'aria-label': tCommon('close') }}
    >
      <Loaded query={call}>
        {(data) => (
          <Stack>
            <Group gap="sm">
              <CallState {...data} />
              <Text size="sm">{clock(secondsOf(data, now))}</Text>
              <Link to="/$environment/calls/$id" params={{ environment, id }}>
                {t('page')}
              </Link>
            </Group>
            {data.hasTranscript ? <Transcript call={data} /> : <Text size="sm">{t('nothing')}</Text>}
          </Stack>
        )}
      </Loaded>
    </Drawer>
  )
}

/** A new call is marked for a moment, and one that ended is grey. */
function classOf({ status, createdAt }: Call, now: number): string {
  if (status === 'ended') return 'over'
  return now - Date.parse(createdAt) < FRESH_MS ? 'fresh' : ''
}

/** The time of the page, which moves once a second (Unix ms). */
function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Returns the calls that were among `running` and ended a moment ago. */
function useEnded(running: readonly Call[], now: number): readonly Call[] {
  const seen = useRef(new Map<string, { readonly call: Call; leftAt: number | null }>())
  const ids = new Set(running.map(({ id }) => id))
  for (const call of running) seen.current.set(call.id, { call, leftAt: null })
  const ended: Call[] = []
  for (const [id, known] of seen.current) {
    if (ids.has(id)) continue
    known.leftAt ??= now
    if (now - known.leftAt > STAYS_MS) seen.current.delete(id)
    else ended.push({ ...known.call, status: 'ended', endedAt: new Date(known.leftAt).toISOString() })
  }
  return ended
}

function secondsOf({ answeredAt, startedAt, createdAt, endedAt }: Call, now: number): number {
  const until = endedAt === null ? now : Date.parse(endedAt)
  return Math.max(0, (until - Date.parse(answeredAt ?? startedAt ?? createdAt)) / 1000)
}
