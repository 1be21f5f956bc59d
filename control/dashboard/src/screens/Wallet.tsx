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
import { useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

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
  return (
    <Page
      title={t('title')}
      actions={canPay && <Button onClick={() => setPaying(true)}>{tTopUp('open')}</Button>}
    >
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
        )}
      </List>
    </Stack>
  )
}
