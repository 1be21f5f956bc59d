import { Alert, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { CallRows } from '../parts/CallRows.js'
import { FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { saveFile } from '../parts/files.js'
import { List, useAction, useList } from '../parts/List.js'
import { useNumbers } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import type { CallSearch } from '../router.js'
import { useSession } from '../session.js'

/** Numbers of the sandbox with a fixed outcome. */
const ANSWERS = '+919000000001'
const BUSY = '+919000000002'
const VOICEMAIL = '+919000000004'

/** Lists calls. The filters are part of the address, so that a link shows the same list. */
export function Calls() {
  const t = useTranslations('calls')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const { place, ...filter } = useSearch({ from: '/$environment/calls' })
  const navigate = useNavigate({ from: '/$environment/calls' })
  const set = (change: Partial<Record<keyof CallSearch, unknown>>): void => {
    const next = Object.entries({ ...filter, place, ...change }).filter(([, value]) => value !== undefined)
    void navigate({ search: Object.fromEntries(next) as CallSearch, replace: true })
  }
  const calls = useList(['calls', filter], (cursor) => api.listCalls({ query: { ...filter, cursor } }))
  const csv = useMutation({
    mutationFn: async () => saveFile(await api.exportCalls({ query: filter }), 'calls.csv'),
  })
  const filtered = Object.keys(filter).length > 0
  return (
    <Page
      title={t('title')}
      actions={
        <>
          <Button variant="default" onClick={() => csv.mutate()} loading={csv.isPending}>
            {t('csv')}
          </Button>
          {canWrite && <Button onClick={() => set({ place: true })}>{t('place')}</Button>}
        </>
      }
    >
      <Filters filter={filter} set={set} />
      {csv.error !== null && <Problem error={csv.error} />}
      <List
        query={calls}
        empty={filtered ? tCommon('noMatch') : t('empty')}
        start={
          filtered && (
            <Button
              variant="default"
              onClick={() => set({ search: undefined, status: undefined, direction: undefined })}
            >
              {tCommon('clearFilters')}
            </Button>
          )
        }
      >
        {(items) => <CallRows calls={items} />}
      </List>
      {place === true && <PlaceCall close={() => set({ place: undefined })} />}
    </Page>
  )
}

function Filters(props: {
  readonly filter: CallSearch
  readonly set: (change: Partial<Record<keyof CallSearch, unknown>>) => void
}) {
  const t = useTranslations('calls')
  const tStatus = useTranslations('status')
  const { filter, set } = props
  const [digits, setDigits] = useState(filter.search ?? '')
  // The service searches for at least three digits.
  const search = useDebouncedCallback((text: string) => {
    const enough = text.replace(/\D/g, '').length >= 3
    set({ search: enough ? text : undefined })
  }, 300)
  const any = { value: '', label: t('any') }
  return (
    <Group gap="sm" align="flex-end">
      <TextInput
        label={t('search')}
        inputMode="tel"
        value={digits}
        onChange={({ currentTarget }) => {
          setDigits(currentTarget.value)
          search(currentTarget.value)
        }}
      />
      <NativeSelect
        label={t('status')}
        value={filter.status ?? ''}
        onChange={({ currentTarget }) => set({ status: currentTarget.value || undefined })}
        data={[
          any,
          ...(['queued', 'ringing', 'in_progress', 'ended'] as const).map((value) => ({
            value,
            label: tStatus(value),
          })),
        ]}
      />
      <NativeSelect
        label={t('direction')}
        value={filter.direction ?? ''}
        onChange={({ currentTarget }) => set({ direction: currentTarget.value || undefined })}
        data={[any, { value: 'inbound', label: t('inbound') }, { value: 'outbound', label: t('outbound') }]}
      />
    </Group>
  )
}

function PlaceCall({ close }: { readonly close: () => void }) {
  const t = useTranslations('calls')
  const { api, environment } = useSession()
  const navigate = useNavigate()
  const numbers = useNumbers()
  const usable = numbers?.filter(({ agentId }) => agentId !== null) ?? []
  const form = useFields({ to: environment === 'test' ? ANSWERS : '+91', chosen: '' })
  const { to, chosen } = form.values
  const numberId = chosen || (usable[0]?.id ?? '')
  const place = useAction(
    () => api.placeCall({ body: { to, numberId } }),
    ({ id }) => void navigate({ to: '/$environment/calls/$id', params: { environment, id } }),
  )
  return (
    <FormDialog
      title={t('place')}
      close={close}
      action={place}
      submit={t('place')}
      disabled={numberId === ''}
    >
      {environment === 'test' && (
        <Text size="sm">{t('placeHint', { answers: ANSWERS, busy: BUSY, voicemail: VOICEMAIL })}</Text>
      )}
      {numbers !== null && usable.length === 0 && <Alert color="orange">{t('noNumber')}</Alert>}
      <TextInput label={t('to')} type="tel" required {...form.text('to')} />
      <NativeSelect
        label={t('from')}
        {...form.text('chosen')}
        value={numberId}
        data={usable.map(({ id, e164, label }) => ({ value: id, label: `${e164} ${label}` }))}
      />
    </FormDialog>
  )
}
