import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { CallState } from './CallState.js'
import { Rows } from './Rows.js'

export function CallRows({ calls }: { readonly calls: readonly Item<'listCalls'>[] }) {
  const t = useTranslations('calls')
  const { environment } = useSession()
  const { time, clock, money } = useFormat()
  return (
    <Rows
      label={t('title')}
      rows={calls}
      idOf={({ id }) => id}
      columns={[
        {
          title: t('when'),
          cell: ({ id, createdAt }) => (
            <Link to="/$environment/calls/$id" params={{ environment, id }}>
              {time(createdAt)}
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
        { title: t('result'), cell: (call) => <CallState {...call} /> },
        {
          title: t('duration'),
          align: 'right',
          cell: ({ durationSeconds }) => (durationSeconds === null ? '–' : clock(durationSeconds)),
        },
        { title: t('cost'), align: 'right', cell: ({ billedPaise }) => money(billedPaise) },
      ]}
    />
  )
}
