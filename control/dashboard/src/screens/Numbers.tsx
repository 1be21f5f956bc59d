import { Button, Group, NativeSelect, Switch, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { BuyNumber } from '../parts/BuyNumber.js'
import { Confirm, FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { useAgents } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { PersonaInput, useTestCall } from '../parts/TestCall.js'
import { useSession } from '../session.js'

type NumberView = Item<'listNumbers'>

/** Lists numbers and what answers them. In the test environment a simulated caller can call them. */
export function Numbers() {
  const t = useTranslations('numbers')
  const tCommon = useTranslations('common')
  const { api, canWrite, canManage, environment } = useSession()
  const [buying, setBuying] = useState(false)
  const [released, setReleased] = useState<NumberView | null>(null)
  const [edited, setEdited] = useState<NumberView | null>(null)
  const [called, setCalled] = useState<NumberView | null>(null)
  const numbers = useList(['numbers', 'list'], (cursor) => api.listNumbers({ query: { cursor } }))
  const agents = useAgents()
  return (
    <Page
      title={t('title')}
      actions={canManage && <Button onClick={() => setBuying(true)}>{t('buy')}</Button>}
    >
      <List query={numbers} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('number'), cell: ({ e164 }) => e164 },
              { title: t('label'), cell: ({ label }) => label },
              {
                title: t('answers'),
                cell: ({ agentId, routingMode, mediaEndpoint }) =>
                  routingMode === 'svc_agent'
                    ? (agents?.find(({ id }) => id === agentId)?.name ?? t('nobody'))
                    : (mediaEndpoint?.url ?? routingMode),
              },
              { title: t('renewal'), cell: (number) => <Renewal number={number} /> },
              {
                title: '',
                align: 'right',
                cell: (number) =>
                  canWrite && (
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      {environment === 'test' && number.agentId !== null && (
                        <Button size="xs" variant="default" onClick={() => setCalled(number)}>
                          {t('callIn')}
                        </Button>
                      )}
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={t('edit', { number: number.e164 })}
                        onClick={() => setEdited(number)}
                      >
                        {tCommon('edit')}
                      </Button>
                      {canManage && number.sipTrunkId === null && (
                        <Button size="xs" variant="default" onClick={() => setReleased(number)}>
                          {t('release')}
                        </Button>
                      )}
                    </Group>
                  ),
              },
            ]}
          />
        )}
      </List>
      {environment === 'live' && <Text size="sm">{t('rentHint')}</Text>}
      {buying && <BuyNumber close={() => setBuying(false)} />}
      {released !== null && <Release number={released} close={() => setReleased(null)} />}
      {edited !== null && <EditNumber number={edited} close={() => setEdited(null)} />}
      {called !== null && <CallIn number={called} close={() => setCalled(null)} />}
    </Page>
  )
}

/** When the rent is due, and what happens to a number that is not paid. */
function Renewal({ number }: { readonly number: NumberView }) {
  const t = useTranslations('numbers')
  const { money, day } = useFormat()
  const { nextRentalAt, releaseAt, rentalPaise } = number
  if (releaseAt !== null) {
    return (
      <Text size="sm" c="red.8">
        {t('unpaid', { day: day(releaseAt), amount: money(rentalPaise) })}
      </Text>
    )
  }
  return nextRentalAt === null ? '–' : t('rentOn', { amount: money(rentalPaise), day: day(nextRentalAt) })
}

function Release({ number, close }: { readonly number: NumberView; readonly close: () => void }) {
  const t = useTranslations('numbers')
  const { api } = useSession()
  const release = useAction(() => api.releaseNumber({ id: number.id }), close)
  return (
    <Confirm
      title={t('releaseTitle', { number: number.e164 })}
      text={t('releaseText')}
      label={t('release')}
      action={release}
      close={close}
    />
  )
}

function EditNumber({ number, close }: { readonly number: NumberView; readonly close: () => void }) {
  const t = useTranslations('numbers')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const agents = useAgents() ?? []
  const form = useFields({
    label: number.label,
    agentId: number.agentId ?? '',
    recordCalls: number.recordCalls,
    byoFallback: number.byoFallback,
  })
  const { label, agentId, recordCalls, byoFallback } = form.values
  const byAgent = number.routingMode === 'svc_agent'
  const byBot = number.routingMode === 'byo_ws'
  const takenOver = byBot && byoFallback === 'agent'
  const answered = {
    ...(byAgent || takenOver ? { agentId: agentId === '' ? null : agentId } : {}),
    ...(byBot ? { byoFallback: takenOver ? ('agent' as const) : ('hangup' as const) } : {}),
  }
  const save = useAction(
    () => api.updateNumber({ id: number.id, body: { label, recordCalls, ...answered } }),
    close,
  )
  return (
    <FormDialog
      title={t('edit', { number: number.e164 })}
      close={close}
      action={save}
      submit={tCommon('save')}
    >
      <TextInput label={t('label')} {...form.text('label')} />
      {byBot && (
        <NativeSelect
          label={t('botLost')}
          data={[
            { value: 'hangup', label: t('hangUp') },
            { value: 'agent', label: t('agentTakesOver') },
          ]}
          {...form.text('byoFallback')}
        />
      )}
      {(byAgent || takenOver) && (
        <NativeSelect
          label={byAgent ? t('answers') : t('fallbackAgent')}
          data={[
            { value: '', label: t('nobody') },
            ...agents.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          {...form.text('agentId')}
        />
      )}
      <Switch label={t('record')} {...form.box('recordCalls')} />
    </FormDialog>
  )
}

function CallIn({ number, close }: { readonly number: NumberView; readonly close: () => void }) {
  const t = useTranslations('numbers')
  const { environment } = useSession()
  const navigate = useNavigate()
  const { form, call } = useTestCall(
    number.id,
    (id) => void navigate({ to: '/$environment/calls/$id', params: { environment, id } }),
  )
  return (
    <FormDialog
      title={t('callInTitle', { number: number.e164 })}
      close={close}
      action={call}
      submit={t('call')}
    >
      <PersonaInput {...form.text('persona')} />
    </FormDialog>
  )
}
