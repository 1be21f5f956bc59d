import { Alert, Card, List, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { type Result, SessionApi } from '../api.js'
import { useFormat } from '../i18n.js'
import { CallRows } from '../parts/CallRows.js'
import { Empty, Failures, Loaded, Page } from '../parts/Page.js'
import { useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

/** Answers in one look: is anything wrong, what runs now, what it costs. New customers get their first steps. */
export function Overview() {
  const t = useTranslations('overview')
  const { api, environment } = useSession()
  const key = useKey()
  const { money, count } = useFormat()
  const overview = useQuery({
    queryKey: key('overview'),
    queryFn: () => api.readOverview(),
  })
  const wallet = useQuery({ queryKey: key('wallet'), queryFn: () => api.readWallet() })
  const usage = useQuery({ queryKey: key('usage'), queryFn: () => api.readWalletUsage() })
  const calls = useQuery({
    queryKey: key('calls', 'latest'),
    queryFn: () => api.listCalls({ query: { limit: 5 } }),
  })
  return (
    <Page title={t('title')}>
      {overview.data !== undefined && <Problems problems={overview.data.problems} />}
      <Failures queries={[overview, wallet, usage]} />
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        <Figure title={t('running')}>
          <Value query={overview} height={36}>
            {({ running }) => (
              <>
                {t('ofLimit', { used: running.calls, limit: running.limit })}
                {running.campaigns > 0 && (
                  <Text size="sm">{t('campaigns', { count: running.campaigns })}</Text>
                )}
              </>
            )}
          </Value>
        </Figure>
        <Figure title={t('balance')}>
          <Value query={wallet} height={36}>
            {({ balancePaise, heldPaise }) => (
              <>
                {money(balancePaise)}
                {heldPaise > 0 && <Text size="sm">{t('held', { amount: money(heldPaise) })}</Text>}
              </>
            )}
          </Value>
        </Figure>
        <Figure title={t('spent')}>
          <Value query={usage} height={36}>
            {({ totalSpentPaise }) => (
              <>
                {money(totalSpentPaise)}
                {environment === 'test' && <Text size="sm">{t('testSpent')}</Text>}
              </>
            )}
          </Value>
        </Figure>
        <Figure title={t('today')}>
          <Value query={overview} height={60}>
            {({ days }) => {
              const today = days.at(-1)
              const before = days.at(0)
              if (today === undefined || before === undefined) return null
              return (
                <>
                  {count(today.calls)}
                  <Text size="sm">{t('answered', { share: share(today), before: count(before.calls) })}</Text>
                  <Days days={days} />
                </>
              )
            }}
          </Value>
        </Figure>
        <Figure title={t('replies')}>
          <Value query={overview} height={36}>
            {({ latency }) => (
              <>
                {latency.turnP50Ms === null ? '–' : `${count(latency.turnP50Ms)} ms`}
                <Text size="sm">
                  {t('slowest', {
                    slowest: latency.turnP95Ms === null ? '–' : `${count(latency.turnP95Ms)} ms`,
                    // The agent that speaks first does so at the answer: there is nothing to wait for.
                    first: latency.firstAudioMs ? `${count(latency.firstAudioMs)} ms` : '–',
                  })}
                </Text>
              </>
            )}
          </Value>
        </Figure>
        <Figure title={t('costToday')}>
          <Value query={overview} height={36}>
            {({ days }) => (
              <>
                {money(days.at(-1)?.billedPaise ?? 0)}
                {environment === 'test' && <Text size="sm">{t('testCost')}</Text>}
              </>
            )}
          </Value>
        </Figure>
      </SimpleGrid>
      <FirstSteps />
      <Stack gap="xs">
        <Title order={2} size="h3">
          {t('latest')}
        </Title>
        <Loaded query={calls}>
          {({ items }) => (items.length === 0 ? <Empty text={t('noCalls')} /> : <CallRows calls={items} />)}
        </Loaded>
      </Stack>
    </Page>
  )
}

/** A figure of an answer, or a dash when the answer failed: the page says once why. */
function Value<T>(props: Parameters<typeof Loaded<T>>[0]) {
  const { data, error } = props.query
  return data === undefined && error !== null ? '–' : <Loaded {...props} />
}

type View = Result<'readOverview'>

/** Share of the calls that were answered. */
function share({ calls, answered }: View['days'][number]): string {
  return calls === 0 ? '–' : `${Math.round((100 * answered) / calls)} %`
}

/** A bar for the calls of each day. */
function Days({ days }: { readonly days: View['days'] }) {
  const t = useTranslations('overview')
  const { day, count } = useFormat()
  const most = Math.max(1, ...days.map(({ calls }) => calls))
  return (
    <ul className="days" aria-label={t('days')}>
      {days.map(({ day: date, calls }) => {
        const text = t('callsOfDay', { day: day(`${date}T00:00:00+05:30`), calls: count(calls) })
        return (
          <li key={date} title={text} aria-label={text}>
            <span style={{ height: `${Math.round((100 * calls) / most)}%` }} />
          </li>
        )
      })}
    </ul>
  )
}

const KNOWN = [
  ...(['calls_blocked', 'wallet_on_hold', 'wallet_low', 'calls_failing'] as const),
  ...(['trunk_disabled', 'trunk_unreachable', 'endpoint_disabled', 'endpoint_failing'] as const),
  'events_lost' as const,
  ...(['campaign_paused', 'campaign_failed', 'number_not_reachable', 'vendor_resting'] as const),
] as const

/** Lists the problems, each with its remedy and the way to it. */
function Problems({ problems }: { readonly problems: View['problems'] }) {
  const t = useTranslations('overview')
  const word = useWord()
  const why = ({ detail, reason, counts }: View['problems'][number]): string | null => {
    const { failed, calls, attempts, events } = counts
    if (failed !== undefined && calls !== undefined) return t('failedOf', { failed, calls })
    if (events !== undefined) return t('lostEvents', { count: events })
    if (attempts !== undefined) return t('failedAttempts', { count: attempts })
    return reason === null ? detail : word(reason)
  }
  return problems.map((found) => {
    const { code, subject, detail, remedy } = found
    const reason = why(found)
    const known = KNOWN.find((name) => name === code)
    return (
      <Alert
        key={`${code} ${subject?.id ?? detail ?? ''}`}
        color="red"
        title={known === undefined ? word(code) : t(`problem.${known}.title`)}
      >
        {subject !== null && (
          <div>
            <ProblemLink subject={subject} />
          </div>
        )}
        {reason !== null && `${/[.।]$/.test(reason) ? reason : `${reason}${t('stop')}`} `}
        {known === undefined ? remedy : t(`problem.${known}.remedy`)}
      </Alert>
    )
  })
}

function ProblemLink({ subject }: { readonly subject: NonNullable<View['problems'][number]['subject']> }) {
  const { environment } = useSession()
  const { type, id, label } = subject
  switch (type) {
    case 'campaign':
      return (
        <Link to="/$environment/campaigns/$id" params={{ environment, id }}>
          {label}
        </Link>
      )
    case 'trunk':
      return (
        <Link to="/$environment/trunks/$id" params={{ environment, id }}>
          {label}
        </Link>
      )
    case 'endpoint':
      return (
        <Link to="/$environment/webhooks" params={{ environment }}>
          {label}
        </Link>
      )
    case 'number':
      return (
        <Link to="/$environment/numbers" params={{ environment }}>
          {label}
        </Link>
      )
    default:
      return label
  }
}

function Figure({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Card withBorder>
      <Title order={2} size="sm" fw={400}>
        {title}
      </Title>
      <Text component="div" size="xl" fw={700}>
        {children}
      </Text>
    </Card>
  )
}

/** The way of a newcomer from the first agent to real calls. Shows until all steps are done. */
function FirstSteps() {
  const t = useTranslations('overview')
  const { api, environment, canManage, organization } = useSession()
  const key = useKey()
  const { data } = useQuery({
    queryKey: key('first-steps'),
    queryFn: async () => {
      const one = { limit: 1 } as const
      const live = new SessionApi({ environment: 'live', organizationId: organization?.id ?? null })
      const [agents, numbers, talks, calls, keys, webhooks, liveNumbers, wallet] = await Promise.all([
        api.listAgents({ query: { limit: 100 } }),
        api.listNumbers({ query: { limit: 100 } }),
        api.listCalls({ query: { ...one, direction: 'inbound' } }),
        api.listCalls({ query: { ...one, direction: 'outbound' } }),
        canManage ? api.listApiKeys({ query: one }) : null,
        canManage ? api.listWebhooks({ query: one }) : null,
        live.listNumbers({ query: one }),
        live.readWallet(),
      ])
      return {
        agent: agents.items.some(({ publishedVersion }) => publishedVersion !== null),
        talk: talks.items.length > 0,
        number: numbers.items.some(({ agentId }) => agentId !== null),
        call: calls.items.length > 0,
        key: keys === null || keys.items.length > 0,
        webhook: webhooks === null || webhooks.items.length > 0,
        live: liveNumbers.items.length > 0 && wallet.balancePaise > 0,
        firstAgent: agents.items[0]?.id ?? null,
        funded: wallet.balancePaise > 0,
      }
    },
  })
  if (data === undefined) return null
  const params = { environment }
  const agent = (text: string) =>
    data.firstAgent === null ? (
      <Link to="/$environment/agents" params={params}>
        {text}
      </Link>
    ) : (
      <Link to="/$environment/agents/$id" params={{ environment, id: data.firstAgent }}>
        {text}
      </Link>
    )
  const number = (
    <Link to="/$environment/numbers" params={params}>
      {t('stepNumber')}
    </Link>
  )
  const inTest = [
    { done: data.agent, link: agent(t('stepAgent')) },
    { done: data.talk, link: agent(t('stepTalk')) },
    { done: data.number, link: number },
    {
      done: data.call,
      link: (
        <Link to="/$environment/calls" params={params} search={{ place: true }}>
          {t('stepCall')}
        </Link>
      ),
    },
    {
      done: data.key,
      link: (
        <Link to="/$environment/keys" params={params}>
          {t('stepKey')}
        </Link>
      ),
    },
    {
      done: data.webhook,
      link: (
        <Link to="/$environment/webhooks" params={params}>
          {t('stepWebhook')}
        </Link>
      ),
    },
    {
      done: data.live,
      link: (
        <Link to="/$environment" params={{ environment: 'live' }}>
          {t('stepLive')}
        </Link>
      ),
    },
  ]
  const inLive = [
    {
      done: data.funded,
      link: (
        <Link to="/$environment/wallet" params={params}>
          {t('stepTopUp')}
        </Link>
      ),
    },
    { done: data.number, link: number },
  ]
  const steps = environment === 'test' ? inTest : inLive
  const left = steps.filter(({ done }) => !done).length
  if (left === 0) return null
  return (
    <Card withBorder>
      <Title order={2} size="h3">
        {t('start')}
      </Title>
      <Text mb="sm">{t('startText', { left, all: steps.length })}</Text>
      <List type="ordered" spacing="xs">
        {steps.map(({ done, link }, index) => (
          <List.Item
            // biome-ignore lint/suspicious/noArrayIndexKey: the steps never change their order
            key={index}
            icon={
              <ThemeIcon size={24} radius="xl" variant={done ? 'filled' : 'outline'} color="cyan.9">
                {done ? '✓' : index + 1}
              </ThemeIcon>
            }
          >
            {link}
            {done && ` (${t('stepDone')})`}
          </List.Item>
        ))}
      </List>
    </Card>
  )
}
