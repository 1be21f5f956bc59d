import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { CallState } from './CallState.js'
import { type Column, Rows } from './Rows.js'
import { useWord } from './Word.js'

type Call = Item<'listCalls'>

export function CallRows({ calls }: { readonly calls: readonly Call[] }) {
  const t = useTranslations('calls')
  return <Rows label={t('title')} rows={calls} idOf={({ id }) => id} columns={useColumns()} />
}

function useColumns(): readonly Column<Call>[] {
  const t = useTranslations('calls')
  const { environment } = useSession()
  const format = useFormat()
  const word = useWord()
  return useMemo(() => {
    const { moment, time, clock, money } = format
    return [
      {
        title: t('when'),
        cell: ({ id, createdAt }) => (
          <Link
            to="/$environment/calls/$id"
            params={{ environment, id }}
            title={time(createdAt)}
            className="once"
          >
            {moment(createdAt)}
          </Link>
        ),
      },
      {
        title: t('who'),
        cell: ({ from, to, direction }) => (
          <>
            <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
              {from} → {to}
            </Text>
            <Text size="xs">{direction === 'inbound' ? t('inbound') : t('outbound')}</Text>
          </>
        ),
      },
      {
        title: t('result'),
        cell: (call) => (
          <>
            <CallState {...call} />
            {call.endedReason !== null && call.endedReason !== call.disposition && (
              <Text size="xs">{word(call.endedReason)}</Text>
            )}
          </>
        ),
      },
      {
        title: t('duration'),
        align: 'right',
        // A call that was not answered has no duration.
        cell: ({ answeredAt, durationSeconds }) =>
          answeredAt === null || durationSeconds === null ? '–' : clock(durationSeconds),
      },
      { title: t('cost'), align: 'right', cell: ({ billedPaise }) => money(billedPaise) },
    ]
  }, [t, environment, format, word])
}
