import { Alert, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { newKey } from '../../../../clients/typescript/http-client.js'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Dialog, FormDialog } from './Dialog.js'
import { useFields } from './fields.js'
import { List, useAction, useList } from './List.js'
import { useAgents } from './lookups.js'
import { Facts, Rows } from './Rows.js'
import { useWord } from './Word.js'

type Offer = Item<'searchAvailableNumbers'>

/** Finds a number of the carriers, and buys it at the price that was shown. */
export function BuyNumber({ close }: { readonly close: () => void }) {
  const t = useTranslations('buyNumber')
  const { api, environment } = useSession()
  const key = useKey()
  const word = useWord()
  const { money } = useFormat()
  const form = useFields({ region: '', contains: '' })
  const [offer, setOffer] = useState<Offer | null>(null)
  const regions = useQuery({
    queryKey: key('numbers', 'regions'),
    queryFn: () => api.listNumberRegions(),
  })
  const { region, contains } = form.values
  const digits = contains.replace(/\D/g, '')
  // The service searches for two digits or more.
  const filter = {
    ...(region === '' ? {} : { region: region as NonNullable<Filter['region']> }),
    ...(digits.length < 2 ? {} : { contains: digits.slice(0, 10) }),
  }
  const offers = useList(['numbers', 'offers', filter], (cursor) =>
    api.searchAvailableNumbers({ query: { ...filter, limit: 20, cursor } }),
  )
  if (offer !== null) return <Purchase offer={offer} back={() => setOffer(null)} close={close} />
  const names = new Map(regions.data?.items.map(({ code, name }) => [code, name]))
  const warnings = offers.data?.pages.flatMap((page) => page.warnings ?? []) ?? []
  return (
    <Dialog title={t('title')} close={close} size="xl">
      {environment === 'test' && <Text size="sm">{t('test')}</Text>}
      <Group grow align="end">
        <NativeSelect
          label={t('region')}
          data={[
            { value: '', label: t('anyRegion') },
            ...[...names].map(([value, label]) => ({ value, label })),
          ]}
          {...form.text('region')}
        />
        <TextInput
          label={t('contains')}
          inputMode="numeric"
          maxLength={10}
          data-autofocus
          {...form.text('contains')}
        />
      </Group>
      {warnings.map(({ provider, code }) => (
        <Alert key={provider} color="orange">
          {t('failed', { provider, code: word(code) })}
        </Alert>
      ))}
      <List query={offers} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ provider, e164 }) => `${provider} ${e164}`}
            columns={[
              { title: t('number'), cell: ({ e164 }) => e164 },
              { title: t('region'), cell: (row) => names.get(row.region ?? '') ?? row.region },
              { title: t('type'), cell: ({ numberType }) => word(numberType ?? '') },
              { title: t('carrier'), cell: ({ provider }) => provider },
              { title: t('monthly'), align: 'right', cell: ({ rentalPaise }) => money(rentalPaise) },
              { title: t('now'), align: 'right', cell: ({ totalPaise }) => money(totalPaise) },
              {
                title: '',
                align: 'right',
                cell: (row) => (
                  <Button size="xs" variant="default" onClick={() => setOffer(row)}>
                    {t('choose', { number: row.e164 })}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </List>
    </Dialog>
  )
}

type Filter = NonNullable<
  NonNullable<Parameters<ReturnType<typeof useSession>['api']['searchAvailableNumbers']>[0]>['query']
>

function Purchase(props: { readonly offer: Offer; readonly back: () => void; readonly close: () => void }) {
  const { offer, back, close } = props
  const t = useTranslations('buyNumber')
  const { api } = useSession()
  const { money, day } = useFormat()
  const agents = useAgents() ?? []
  const form = useFields({ label: '', agentId: '' })
  // The same key for every try: a carrier that did not answer in time never sells twice.
  const [idempotencyKey] = useState(newKey)
  const { e164, provider, setupPaise, rentalPaise, totalPaise, renewsAt } = offer
  const buy = useAction(() => {
    const { label, agentId } = form.values
    const body = {
      ...{ e164, provider, confirmedTotalPaise: totalPaise },
      ...(label.trim() === '' ? {} : { label: label.trim() }),
      ...(agentId === '' ? {} : { agentId }),
    }
    return api.purchaseNumber({ body }, { idempotencyKey })
  }, close)
  return (
    <FormDialog
      title={t('buy', { number: e164 })}
      close={close}
      action={buy}
      submit={t('pay', { amount: money(totalPaise) })}
    >
      <Facts
        facts={[
          [t('setup'), money(setupPaise)],
          [t('monthly'), money(rentalPaise)],
          [t('now'), <strong key="now">{money(totalPaise)}</strong>],
          [t('renews'), day(renewsAt)],
        ]}
      />
      <TextInput label={t('label')} maxLength={80} {...form.text('label')} />
      <NativeSelect
        label={t('agent')}
        data={[
          { value: '', label: t('nobody') },
          ...agents.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        {...form.text('agentId')}
      />
      <div>
        <Button variant="subtle" onClick={back}>
          {t('back')}
        </Button>
      </div>
    </FormDialog>
  )
}
