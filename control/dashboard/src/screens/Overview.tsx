import { Alert, Card, List, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { CallRows } from '../parts/CallRows.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { useKey, useSession } from '../session.js'

/** Answers in one look: is anything wrong, what runs now, what it costs. New customers get their first steps. */
export function Overview() {
  const t = useTranslations('overview')
  const { api } = useSession()
  const key = useKey()
  const { money } = useFormat()
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => api.readLimits(),
  })
  const wallet = useQuery({ queryKey: key('wallet'), queryFn: () => api.readWallet() })
  const usage = useQuery({ queryKey: key('usage'), queryFn: () => api.readWalletUsage() })
  const calls = useQuery({
    queryKey: key('calls', 'latest'),
    queryFn: () => api.listCalls({ query: { limit: 5 } }),
  })
  return (
    <Page title={t('title')}>
      {wallet.data?.onHold && (
        <Alert color="red">{t('onHold', { reason: wallet.data.holdReason ?? '' })}</Alert>
      )}
      {wallet.data !== undefined && wallet.data.balancePaise < wallet.data.thresholdPaise && (
        <Alert color="orange">{t('low', { amount: money(wallet.data.thresholdPaise) })}</Alert>
      )}
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Figure title={t('running')}>
          <Loaded query={limits} height={36}>
            {({ concurrency: { agentCalls, byoCalls } }) =>
              t('ofLimit', {
                used: agentCalls.inUse + byoCalls.inUse,
                limit: agentCalls.limit + byoCalls.limit,
              })
            }
          </Loaded>
        </Figure>
        <Figure title={t('balance')}>
          <Loaded query={wallet} height={36}>
            {({ balancePaise, heldPaise }) => (
              <>
                {money(balancePaise)}
                {heldPaise > 0 && <Text size="sm">{t('held', { amount: money(heldPaise) })}</Text>}
              </>
            )}
          </Loaded>
        </Figure>
        <Figure title={t('spent')}>
          <Loaded query={usage} height={36}>
            {({ totalSpentPaise }) => money(totalSpentPaise)}
          </Loaded>
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

/** The way to the first finished test call. Shows until all steps are done. */
function FirstSteps() {
  const t = useTranslations('overview')
  const { api, environment, canManage } = useSession()
  const key = useKey()
  const { data } = useQuery({
    queryKey: key('first-steps'),
    queryFn: async () => {
      const [agents, numbers, calls, keys] = await Promise.all([
        api.listAgents({ query: { limit: 100 } }),
        api.listNumbers({ query: { limit: 100 } }),
        api.listCalls({ query: { limit: 1 } }),
        canManage ? api.listApiKeys({ query: { limit: 1 } }) : null,
      ])
      return {
        agent: agents.items.some(({ publishedVersion }) => publishedVersion !== null),
        number: numbers.items.some(({ agentId }) => agentId !== null),
        call: calls.items.length > 0,
        key: keys === null || keys.items.length > 0,
      }
    },
  })
  if (data === undefined || (data.agent && data.number && data.call && data.key)) return null
  const params = { environment }
  const steps = [
    {
      done: data.agent,
      link: (
        <Link to="/$environment/agents" params={params}>
          {t('stepAgent')}
        </Link>
      ),
    },
    {
      done: data.number,
      link: (
        <Link to="/$environment/numbers" params={params}>
          {t('stepNumber')}
        </Link>
      ),
    },
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
  ]
  return (
    <Card withBorder>
      <Title order={2} size="h3">
        {t('start')}
      </Title>
      <Text mb="sm">{t('startText')}</Text>
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
          </List.Item>
        ))}
      </List>
    </Card>
  )
}
