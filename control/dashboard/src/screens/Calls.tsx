import { Alert, Button, NativeSelect, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { CallRows } from '../parts/CallRows.js'
import { FormDialog } from '../parts/Dialog.js'
import { NewerItems, useFollowedList } from '../parts/FollowedList.js'
import { useFields } from '../parts/fields.js'
import { saveFile } from '../parts/files.js'
import { List, useAction } from '../parts/List.js'
import { useAgents, useCampaigns, useNumbers } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import type { CallSearch } from '../router.js'
import { useSession } from '../session.js'

/** Numbers of the sandbox with a fixed outcome. */
const ANSWERS = '+919000000001'
const BUSY = '+919000000002'
const VOICEMAIL = '+919000000004'

/** Indian time has no daylight saving. */
const MIDNIGHT = 'T00:00:00+05:30'
const DAY_MS = 86_400_000
const DISPOSITIONS = ['answered', 'no_answer', 'busy', 'voicemail', 'failed', 'unknown'] as const

type Filter = Omit<CallSearch, 'place'>
type Set = (change: Partial<Record<keyof CallSearch, unknown>>) => void

/** Returns the query of the filters: from the first moment of the first day to the last moment of the last day. */
function queryOf({ from, until, ...filter }: Filter) {
  return {
    ...filter,
    ...(from === undefined ? {} : { startedAfter: new Date(`${from}${MIDNIGHT}`).toISOString() }),
    ...(until === undefined
      ? {}
      : { startedBefore: new Date(Date.parse(`${until}${MIDNIGHT}`) + DAY_MS).toISOString() }),
  }
}

/** Lists calls. The filters are part of the address, so that a link shows the same list. */
export function Calls() {
  const t = useTranslations('calls')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const { place, ...filter } = useSearch({ from: '/$environment/calls' })
  const navigate = useNavigate({ from: '/$environment/calls' })
  const set: Set = (change) => {
    const next = Object.entries({ ...filter, place, ...change }).filter(([, value]) => value !== undefined)
    void navigate({ search: Object.fromEntries(next) as CallSearch, replace: true })
  }
  const {
    query: calls,
    newer,
    show,
  } = useFollowedList(
    ['calls', filter],
    (cursor) => api.listCalls({ query: { ...queryOf(filter), cursor } }),
    {
      idOf: ({ id }) => id,
      concerns: ({ kind }) => kind === 'call',
      read: (id) => api.readCall({ id }),
    },
  )
  const csv = useMutation({
    mutationFn: async () => saveFile(await api.exportCalls({ query: queryOf(filter) }), 'calls.csv'),
  })
  const names = Object.keys(filter)
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
      <NewerItems newer={newer} what="newCalls" show={show} />
      <List
        query={calls}
        empty={names.length > 0 ? tCommon('noMatch') : t('empty')}
        start={
          names.length > 0 && (
            <Button
              variant="default"
              onClick={() => set(Object.fromEntries(names.map((name) => [name, undefined])))}
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

function Filters({ filter, set }: { readonly filter: Filter; readonly set: Set }) {
  const t = useTranslations('calls')
  const tFilter = useTranslations('callFilters')
  const tStatus = useTranslations('status')
  const agents = useAgents()
  const numbers = useNumbers()
  const campaigns = useCampaigns()
  const [digits, setDigits] = useState(filter.search ?? '')
  // Filters that were cleared elsewhere also clear the field.
  useEffect(() => {
    if (filter.search === undefined) setDigits((shown) => (enough(shown) ? '' : shown))
  }, [filter.search])
  const search = useDebouncedCallback((text: string) => {
    set({ search: enough(text) ? text : undefined })
  }, 300)
  const any = { value: '', label: t('any') }
  /** A choice of `options`. A chosen value that is not among them, such as a deleted agent, stays chosen. */
  const choice = (
    name: 'status' | 'direction' | 'disposition' | 'agentId' | 'numberId' | 'campaignId',
    label: string,
    options: readonly { readonly value: string; readonly label: string }[],
  ) => {
    const value = filter[name] ?? ''
    const listed = value === '' || options.some((option) => option.value === value)
    return (
      <NativeSelect
        label={label}
        value={value}
        onChange={({ currentTarget }) => set({ [name]: currentTarget.value || undefined })}
        data={[any, ...options, ...(listed ? [] : [{ value, label: value }])]}
      />
    )
  }
  const states = (values: readonly (typeof DISPOSITIONS)[number][] | readonly (typeof STATES)[number][]) =>
    values.map((value) => ({ value, label: tStatus(value) }))
  return (
    <search className="filters" aria-label={tFilter('label')}>
      <TextInput
        label={t('search')}
        inputMode="tel"
        data-filter
        value={digits}
        onChange={({ currentTarget }) => {
          setDigits(currentTarget.value)
          search(currentTarget.value)
        }}
      />
      <TextInput
        label={tFilter('from')}
        type="date"
        max={filter.until}
        value={filter.from ?? ''}
        onChange={({ currentTarget }) => set({ from: currentTarget.value || undefined })}
      />
      <TextInput
        label={tFilter('until')}
        type="date"
        min={filter.from}
        value={filter.until ?? ''}
        onChange={({ currentTarget }) => set({ until: currentTarget.value || undefined })}
      />
      {choice('status', t('status'), states(STATES))}
      {choice('disposition', t('result'), states(DISPOSITIONS))}
      {choice('direction', t('direction'), [
        { value: 'inbound', label: t('inbound') },
        { value: 'outbound', label: t('outbound') },
      ])}
      {choice(
        'agentId',
        tFilter('agent'),
        (agents ?? []).map(({ id, name }) => ({ value: id, label: name })),
      )}
      {choice(
        'numberId',
        tFilter('number'),
        (numbers ?? []).map(({ id, e164, label }) => ({ value: id, label: `${e164} ${label}` })),
      )}
      {choice(
        'campaignId',
        tFilter('campaign'),
        (campaigns ?? []).map(({ id, name }) => ({ value: id, label: name })),
      )}
    </search>
  )
}

const STATES = ['queued', 'ringing', 'in_progress', 'ended'] as const

/** Tells whether the service searches for `text`: it has at least three digits. */
const enough = (text: string): boolean => text.replace(/\D/g, '').length >= 3

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
