import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { List, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists what the service reported, and whether the endpoints took it. */
export function Events() {
  const t = useTranslations('events')
  const { api, environment } = useSession()
  const { time } = useFormat()
  const events = useList(['events'], (cursor) => api.listEvents({ query: { cursor } }))
  return (
    <Page title={t('title')}>
      <List query={events} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id, delivery }) => `${id} ${delivery?.endpointId ?? ''}`}
            columns={[
              { title: t('type'), cell: ({ type }) => type },
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
              { title: t('when'), cell: ({ createdAt }) => time(createdAt) },
            ]}
          />
        )}
      </List>
    </Page>
  )
}
