import { Alert, Button, Card, Group, NumberInput, SimpleGrid, Stack, Tabs, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { saveFile } from '../parts/files.js'
import { List, useAction, useList } from '../parts/List.js'
import { Invoices, TopUp } from '../parts/Money.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Facts, Rows } from '../parts/Rows.js'
import { shortIds, useThings, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

const DAY_MS = 86_400_000
/** Days over which spending is averaged. */
const DAYS = 7
/** A balance that lasts longer needs no date. */
const MOST_DAYS = 365

/** The balance, what it was spent on, every movement, and the invoices. */
export function Wallet() {
  const t = useTranslations('wallet')
  const tInvoices = useTranslations('invoices')
  const tTopUp = useTranslations('topup')
  const { api, canPay, environment } = useSession()
  const { tab = 'ledger' } = useSearch({ from: '/$environment/wallet' })
  const navigate = useNavigate({ from: '/$environment/wallet' })
  const [paying, setPaying] = useState(false)
  const key = useKey()
  const { money } = useFormat()
  const word = useWord()
  const wallet = useQuery({ queryKey: key('wallet'), queryFn: () => api.readWallet() })
  const usage = useQuery({ queryKey: key('usage'), queryFn: () => api.readWalletUsage() })
  const week = useQuery({
    queryKey: key('usage', '7d'),
    queryFn: () => api.readWalletUsage({ query: { period: '7d' } }),
  })
  return (
    <Page
      title={t('title')}
      actions={canPay && <Button onClick={() => setPaying(true)}>{tTopUp('open')}</Button>}
    >
      {environment === 'test' && <Alert>{t('test')}</Alert>}
      <Loaded query={wallet}>
        {(data) => (
          <>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
              <Amount title={t('balance')} text={money(data.balancePaise)} />
              <Amount title={t('held')} text={money(data.heldPaise)} />
              <Amount title={t('rate')} text={money(data.ratePaisePerMinute)} />
              <Pace wallet={data} spentPaise={week.data?.totalSpentPaise ?? null} />
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
            <Facts
              facts={[
                [t('spent'), money(totalSpentPaise)],
                [t('added'), money(addedPaise)],
                ...categories.map(({ category, spentPaise }) => [word(category), money(spentPaise)] as const),
              ]}
            />
          </Card>
        )}
      </Loaded>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => void navigate({ search: { tab: value ?? 'ledger' }, replace: true })}
      >
        <Tabs.List>
          <Tabs.Tab value="ledger">{t('ledger')}</Tabs.Tab>
          <Tabs.Tab value="invoices">{tInvoices('title')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="ledger" pt="md">
          <Ledger />
        </Tabs.Panel>
        <Tabs.Panel value="invoices" pt="md">
          <Invoices />
        </Tabs.Panel>
      </Tabs>
      {paying && <TopUp close={() => setPaying(false)} />}
    </Page>
  )
}

/** Shows the costs of a day, and until when the balance lasts at this pace. `spentPaise` is that of the last seven days. */
function Pace(props: { readonly wallet: Result<'readWallet'>; readonly spentPaise: number | null }) {
  const t = useTranslations('wallet')
  const { money, day } = useFormat()
  const { balancePaise, heldPaise } = props.wallet
  const perDay = (props.spentPaise ?? 0) / DAYS
  const days = Math.max(0, balancePaise - heldPaise) / perDay
  const until =
    perDay <= 0
      ? t('noSpending')
      : days > MOST_DAYS
        ? t('lastsLong')
        : t('lasts', { day: day(new Date(Date.now() + days * DAY_MS).toISOString()) })
  return <Amount title={t('perDay')} text={money(perDay)} note={props.spentPaise === null ? '' : until} />
}

function Amount(props: { readonly title: string; readonly text: string; readonly note?: string }) {
  const { title, text, note } = props
  return (
    <Card withBorder>
      <Title order={2} size="sm" fw={400}>
        {title}
      </Title>
      <Text size="xl" fw={700}>
        {text}
      </Text>
      {note !== undefined && <Text size="sm">{note}</Text>}
    </Card>
  )
}

function Threshold({ wallet }: { readonly wallet: Result<'readWallet'> }) {
  const t = useTranslations('wallet')
  const tCommon = useTranslations('common')
  const { api, canPay } = useSession()
  const [rupees, setRupees] = useState(wallet.thresholdPaise / 100)
  const save = useAction(() =>
    api.updateWalletSettings({ body: { thresholdPaise: Math.round(rupees * 100) } }),
  )
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
          disabled={!canPay}
          value={rupees}
          onChange={(value) => setRupees(Number(value))}
        />
        {canPay && rupees * 100 !== wallet.thresholdPaise && (
          <Button type="submit" loading={save.isPending}>
            {tCommon('save')}
          </Button>
        )}
      </Group>
    </form>
  )
}

function Ledger() {
  const t = useTranslations('wallet')
  const { api, environment } = useSession()
  const { money, time } = useFormat()
  const { thing } = useThings()
  const ledger = useList(['ledger'], (cursor) => api.listLedger({ query: { cursor } }))
  const save = useMutation({
    mutationFn: async () => saveFile(await api.exportLedger(), 'ledger.csv'),
  })
  return (
    <Stack>
      {save.error !== null && <Problem error={save.error} />}
      <div>
        <Button variant="default" onClick={() => save.mutate()} loading={save.isPending}>
          {t('csv')}
        </Button>
      </div>
      <List query={ledger} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('ledger')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('when'), cell: ({ createdAt }) => <span className="once">{time(createdAt)}</span> },
              {
                title: t('what'),
                cell: ({ type, description, reference }) => (
                  <>
                    {reference.type === 'call' ? (
                      <Link to="/$environment/calls/$id" params={{ environment, id: reference.id }}>
                        {thing(type)}
                      </Link>
                    ) : (
                      thing(type)
                    )}
                    <Text size="xs" c="dimmed">
                      {shortIds(description)}
                    </Text>
                  </>
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
        )}
      </List>
    </Stack>
  )
}
