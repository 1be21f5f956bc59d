import { Button, NativeSelect, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ListCallbacksQuery } from '../../../../clients/typescript/generated/types.js'
import { useFormat } from '../i18n.js'
import { Confirm } from '../parts/Dialog.js'
import { List, useAction, useList } from '../parts/List.js'
import { useAgents } from '../parts/lookups.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

const STATES = ['scheduled', 'due', 'dialled', 'refused', 'canceled'] as const

/** Lists the calls that agents promised. */
export function Callbacks() {
  const t = useTranslations('callbacks')
  const tCommon = useTranslations('common')
  const { api, canWrite, environment } = useSession()
  const { ist } = useFormat()
  const word = useWord()
  const agents = useAgents()
  const [status, setStatus] = useState('')
  const [canceled, setCanceled] = useState<{ readonly id: string; readonly e164: string } | null>(null)
  const callbacks = useList(['callbacks', status], (cursor) =>
    api.listCallbacks({
      query: {
        cursor,
        ...(status === '' ? {} : { status: status as NonNullable<ListCallbacksQuery['status']> }),
      },
    }),
  )
  const cancel = useAction(
    (id: string) => api.cancelCallback({ id, body: {} }),
    () => setCanceled(null),
  )
  return (
    <Page title={t('title')}>
      <NativeSelect
        maw={240}
        label={t('state')}
        value={status}
        onChange={({ currentTarget }) => setStatus(currentTarget.value)}
        data={[{ value: '', label: t('any') }, ...STATES.map((value) => ({ value, label: word(value) }))]}
      />
      <List
        query={callbacks}
        empty={status === '' ? t('empty') : tCommon('noMatch')}
        start={
          status !== '' && (
            <Button variant="default" onClick={() => setStatus('')}>
              {tCommon('clearFilters')}
            </Button>
          )
        }
      >
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('at'), cell: ({ at }) => <span className="once">{ist(at)}</span> },
              {
                title: t('number'),
                cell: ({ e164, numberProven }) => (
                  <>
                    {e164}
                    {!numberProven && <Text size="xs">{t('unproven')}</Text>}
                  </>
                ),
              },
              {
                title: t('agent'),
                cell: ({ agentId }) => (
                  <span className="once">{agents?.find(({ id }) => id === agentId)?.name}</span>
                ),
              },
              { title: t('note'), cell: ({ note }) => note },
              {
                title: t('state'),
                cell: ({ status: state, reason }) => (
                  <>
                    <State value={state} />
                    {reason !== null && <Text size="xs">{word(reason)}</Text>}
                  </>
                ),
              },
              {
                title: t('call'),
                cell: ({ callId, resultCallId }) => (
                  <Stack gap="xs" align="flex-start">
                    <Link to="/$environment/calls/$id" params={{ environment, id: callId }} className="once">
                      {t('call')}
                    </Link>
                    {resultCallId !== null && (
                      <Link
                        to="/$environment/calls/$id"
                        params={{ environment, id: resultCallId }}
                        className="once"
                      >
                        {t('result')}
                      </Link>
                    )}
                  </Stack>
                ),
              },
              {
                title: '',
                align: 'right',
                cell: ({ id, e164, status: state }) =>
                  canWrite &&
                  (state === 'scheduled' || state === 'due') && (
                    <Button size="xs" variant="default" onClick={() => setCanceled({ id, e164 })}>
                      {t('cancel')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
      {canceled !== null && (
        <Confirm
          title={t('cancel')}
          text={t('cancelText', { number: canceled.e164 })}
          label={t('cancel')}
          action={{ ...cancel, mutate: () => cancel.mutate(canceled.id) }}
          close={() => setCanceled(null)}
        />
      )}
    </Page>
  )
}
