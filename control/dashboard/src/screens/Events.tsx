import { Alert, Button, Code, CopyButton, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslations } from 'use-intl'
import { EVENT_TYPES } from '../../../../clients/typescript/generated/event-types.js'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { Dialog } from '../parts/Dialog.js'
import { NewerItems, useFollowedList } from '../parts/FollowedList.js'
import { List, useAction } from '../parts/List.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { type Column, Facts, Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import type { EventSearch } from '../router.js'
import { useKey, useSession } from '../session.js'

const queryOf = (type: EventSearch['type']) => (type === undefined ? {} : { type })

/** Lists what the service reported, and whether the endpoints took it. The address names the opened event. */
export function Events() {
  const t = useTranslations('events')
  const tCommon = useTranslations('common')
  const tFilter = useTranslations('eventView')
  const { api } = useSession()
  const { type, id: opened } = useSearch({ from: '/$environment/events' })
  const navigate = useNavigate({ from: '/$environment/events' })
  const set = (change: { readonly [K in keyof EventSearch]: EventSearch[K] | undefined }): void => {
    const next = Object.entries({ type, id: opened, ...change }).filter(([, value]) => value !== undefined)
    void navigate({ search: Object.fromEntries(next) as EventSearch, replace: true })
  }
  const query = queryOf(type)
  const columns = useColumns(type)
  const {
    query: events,
    newer,
    show,
  } = useFollowedList(['events', query], (cursor) => api.listEvents({ query: { ...query, cursor } }), {
    idOf: ({ id, delivery }) => `${id} ${delivery?.endpointId ?? ''}`,
    concerns: ({ kind }) => kind !== 'transcript',
  })
  return (
    <Page title={t('title')}>
      <search className="filters" aria-label={tFilter('filters')}>
        <NativeSelect
          label={t('type')}
          data-filter
          value={type ?? ''}
          onChange={({ currentTarget }) => set({ type: currentTarget.value || undefined })}
          data={[
            { value: '', label: tFilter('any') },
            ...EVENT_TYPES.map((value) => ({ value, label: value })),
          ]}
        />
      </search>
      <NewerItems newer={newer} what="newEvents" show={show} />
      <List query={events} empty={type === undefined ? t('empty') : tCommon('noMatch')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id, delivery }) => `${id} ${delivery?.endpointId ?? ''}`}
            columns={columns}
          />
        )}
      </List>
      {opened !== undefined && <EventDialog id={opened} close={() => set({ id: undefined })} />}
    </Page>
  )
}

function useColumns(type: EventSearch['type']): readonly Column<Item<'listEvents'>>[] {
  const t = useTranslations('events')
  const { environment } = useSession()
  const format = useFormat()
  return useMemo(() => {
    const { moment, time } = format
    return [
      {
        title: t('type'),
        cell: ({ id, type: name }) => (
          <Link to="/$environment/events" params={{ environment }} search={{ ...queryOf(type), id }} replace>
            {name}
          </Link>
        ),
      },
      {
        title: t('subject'),
        cell: ({ subjectType, subjectId }) =>
          subjectType === 'call' ? (
            <Link to="/$environment/calls/$id" params={{ environment, id: subjectId }}>
              {subjectId}
            </Link>
          ) : (
            subjectId
          ),
      },
      {
        title: t('delivery'),
        cell: ({ delivery }) =>
          delivery === null ? (
            t('notSubscribed')
          ) : (
            <>
              <State value={delivery.status} /> {delivery.lastStatus ?? ''} ({delivery.attempts})
            </>
          ),
      },
      {
        title: t('when'),
        cell: ({ createdAt }) => (
          <span className="once" title={time(createdAt)}>
            {moment(createdAt)}
          </span>
        ),
      },
    ]
  }, [t, environment, format, type])
}

/** One event: what the endpoints get, and a button to send it again. */
function EventDialog({ id, close }: { readonly id: string; readonly close: () => void }) {
  const t = useTranslations('eventView')
  const tEvents = useTranslations('events')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const key = useKey()
  const { time } = useFormat()
  const event = useQuery({ queryKey: key('event', id), queryFn: () => api.readEvent({ id }) })
  const again = useAction(() => api.redeliverEvent({ id, body: {} }))
  return (
    <Dialog title={event.data?.type ?? t('title')} close={close} size="xl">
      <Loaded query={event} height={300}>
        {({ createdAt, delivery, payload }) => {
          const text = JSON.stringify(payload, null, 2)
          return (
            <Stack>
              <Facts
                facts={[
                  [t('id'), <code key="id">{id}</code>],
                  [tEvents('when'), time(createdAt)],
                  [
                    tEvents('delivery'),
                    delivery === null ? (
                      tEvents('notSubscribed')
                    ) : (
                      <span key="delivery">
                        <State value={delivery.status} /> {delivery.lastStatus ?? ''} ({delivery.attempts})
                      </span>
                    ),
                  ],
                ]}
              />
              <Text size="sm">{t('payload')}</Text>
              <Code block tabIndex={0} mah={380} className="wide">
                {text}
              </Code>
              {again.error !== null && <Problem error={again.error} />}
              {again.data !== undefined && (
                <Alert role="status" color="green">
                  {t('sent', { count: again.data.deliveries.length })}
                </Alert>
              )}
              <Group>
                {'clipboard' in navigator && (
                  <CopyButton value={text}>
                    {({ copied, copy }) => (
                      <Button variant="default" onClick={copy}>
                        {copied ? tCommon('copied') : t('copyPayload')}
                      </Button>
                    )}
                  </CopyButton>
                )}
                {canManage ? (
                  <Button variant="default" onClick={() => again.mutate()} loading={again.isPending}>
                    {t('again')}
                  </Button>
                ) : (
                  <Text size="sm">{tCommon('onlyAdmins')}</Text>
                )}
              </Group>
            </Stack>
          )
        }}
      </Loaded>
    </Dialog>
  )
}
