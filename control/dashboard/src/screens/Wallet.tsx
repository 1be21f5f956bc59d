import { Alert, Button, Card, Group, NumberInput, SimpleGrid, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { useKey, useSession } from '../session.js'

/** The balance, what it was spent on, and every movement. */
export function Wallet() {
  const t = useTranslations('wallet')
  const { api, environment } = useSession()
  const key = useKey()
  const { money } = useFormat()
  const wallet = useQuery({ queryKey: key('wallet'), queryFn: () => api.readWallet() })
  const usage = useQuery({ queryKey: key('usage'), queryFn: () => api.readWalletUsage() })
  return (
    <Page title={t('title')}>
      {environment === 'test' && <Alert>{t('test')}</Alert>}
      <Loaded query={wallet}>
        {(data) => (
          <>
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <Amount title={t('balance')} text={money(data.balancePaise)} />
              <Amount title={t('held')} text={money(data.heldPaise)} />
              <Amount title={t('rate')} text={money(data.ratePaisePerMinute)} />
            </SimpleGrid>
            <Threshold wallet={data} />
          </>
        )}
      </Loaded>
      <Loaded query={usage}>
        {({ totalSpentPaise, addedPaise, categories }) => (
          <Card withBorder>
            <Title order={2} size="h4">
              {t('usage')}
            </Title>
            <Text>
              {t('spent')} {money(totalSpentPaise)}, {t('added')} {money(addedPaise)}
            </Text>
            {categories.map(({ category, spentPaise }) => (
              <Text size="sm" key={category}>
                {category}: {money(spentPaise)}
              </Text>
            ))}
          </Card>
        )}
      </Loaded>
      <Title order={2} size="h4">
        {t('ledger')}
      </Title>
      <LedgerRows />
    </Page>
  )
}

function Amount({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Card withBorder>
      <Title order={2} size="sm" fw={400}>
        {title}
      </Title>
      <Text size="xl" fw={700}>
        {text}
      </Text>
    </Card>
  )
}

function Threshold({ wallet }: { readonly wallet: Result<'readWallet'> }) {
  const t = useTranslations('wallet')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const [rupees, setRupees] = useState(wallet.thresholdPaise / 100)
  const save = useMutation({
    mutationFn: () => api.updateWalletSettings({ body: { thresholdPaise: Math.round(rupees * 100) } }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: key('wallet') }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit}>
      {save.error !== null && <Problem error={save.error} />}
      <Group align="flex-end">
        <NumberInput
          label={t('threshold')}
          prefix="₹"
          min={0}
          decimalScale={2}
          thousandsGroupStyle="lakh"
          thousandSeparator=","
          disabled={!canManage}
          value={rupees}
          onChange={(value) => setRupees(Number(value))}
        />
        {canManage && rupees * 100 !== wallet.thresholdPaise && (
          <Button type="submit" loading={save.isPending}>
            {tCommon('save')}
          </Button>
        )}
      </Group>
    </form>
  )
}

function LedgerRows() {
  const t = useTranslations('wallet')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const { money, time } = useFormat()
  const key = useKey()
  const ledger = useInfiniteQuery({
    queryKey: key('ledger'),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => api.listLedger({ query: { cursor: pageParam } }),
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
  })
  return (
    <>
      <Loaded query={ledger}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) return <Empty text={t('empty')} />
          return (
            <Rows
              label={t('ledger')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: t('when'), cell: ({ createdAt }) => time(createdAt) },
                {
                  title: t('what'),
                  cell: ({ description, reference }) =>
                    reference.type === 'call' ? (
                      <Link to="/$environment/calls/$id" params={{ environment, id: reference.id }}>
                        {description}
                      </Link>
                    ) : (
                      description
                    ),
                },
                { title: t('amount'), align: 'right', cell: ({ amountPaise }) => money(amountPaise) },
                {
                  title: t('after'),
                  align: 'right',
                  cell: ({ balanceAfterPaise }) => money(balanceAfterPaise),
                },
              ]}
            />
          )
        }}
      </Loaded>
      {ledger.hasNextPage && (
        <Button
          variant="default"
          onClick={() => void ledger.fetchNextPage()}
          loading={ledger.isFetchingNextPage}
        >
          {tCommon('more')}
        </Button>
      )}
    </>
  )
}
