import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { CallRows } from '../parts/CallRows.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import type { CallSearch } from '../router.js'
import { useKey, useSession } from '../session.js'

const LIVE_MS = 5_000
/** Numbers of the sandbox with a fixed outcome. */
const ANSWERS = '+919000000001'
const BUSY = '+919000000002'
const VOICEMAIL = '+919000000004'

/** Lists calls. The filters are part of the address, so that a link shows the same list. */
export function Calls() {
  const t = useTranslations('calls')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const key = useKey()
  const { place, ...filter } = useSearch({ from: '/$environment/calls' })
  const navigate = useNavigate({ from: '/$environment/calls' })
  const set = (change: Partial<Record<keyof CallSearch, unknown>>): void => {
    const next = Object.entries({ ...filter, place, ...change }).filter(([, value]) => value !== undefined)
    void navigate({ search: Object.fromEntries(next) as CallSearch, replace: true })
  }
  const calls = useInfiniteQuery({
    queryKey: key('calls', filter),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => api.listCalls({ query: { ...filter, cursor: pageParam } }),
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    refetchInterval: LIVE_MS,
  })
  const csv = useMutation({
    mutationFn: async () => {
      const response = await api.exportCalls({ query: filter })
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await response.blob())
      link.download = 'calls.csv'
      link.click()
      URL.revokeObjectURL(link.href)
    },
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
      <Loaded query={calls} height={400}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) {
            return filtered ? (
              <Empty text={tCommon('noMatch')}>
                <Button
                  variant="default"
                  onClick={() => set({ search: undefined, status: undefined, direction: undefined })}
                >
                  {tCommon('clearFilters')}
                </Button>
              </Empty>
            ) : (
              <Empty text={t('empty')} />
            )
          }
          return <CallRows calls={items} />
        }}
      </Loaded>
      {calls.hasNextPage && (
        <Button
          variant="default"
          onClick={() => void calls.fetchNextPage()}
          loading={calls.isFetchingNextPage}
        >
          {tCommon('more')}
        </Button>
      )}
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
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [to, setTo] = useState(environment === 'test' ? ANSWERS : '+91')
  const [chosen, setChosen] = useState('')
  const numbers = useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
  const usable = numbers.data?.items.filter(({ agentId }) => agentId !== null) ?? []
  const numberId = chosen || (usable[0]?.id ?? '')
  const place = useMutation({
    mutationFn: () => api.placeCall({ body: { to, numberId } }),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: key() })
      void navigate({ to: '/$environment/calls/$id', params: { environment, id } })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    place.mutate()
  }
  return (
    <Modal opened onClose={close} title={t('place')} closeButtonProps={{ 'aria-label': tCommon('cancel') }}>
      <form onSubmit={submit}>
        <Stack>
          {environment === 'test' && (
            <Text size="sm">{t('placeHint', { answers: ANSWERS, busy: BUSY, voicemail: VOICEMAIL })}</Text>
          )}
          {numbers.isSuccess && usable.length === 0 && <Alert color="orange">{t('noNumber')}</Alert>}
          {place.error !== null && <Problem error={place.error} />}
          <TextInput
            label={t('to')}
            type="tel"
            required
            value={to}
            onChange={({ currentTarget }) => setTo(currentTarget.value)}
          />
          <NativeSelect
            label={t('from')}
            value={numberId}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
            data={usable.map(({ id, e164, label }) => ({ value: id, label: `${e164} ${label}` }))}
          />
          <Button type="submit" loading={place.isPending} disabled={numberId === ''}>
            {t('place')}
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}
