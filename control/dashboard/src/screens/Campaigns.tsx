import { Button, Progress } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { List, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists campaigns with their progress. */
export function Campaigns() {
  const t = useTranslations('campaigns')
  const { api, canWrite, environment } = useSession()
  const { count } = useFormat()
  const campaigns = useList(['campaigns'], (cursor) => api.listCampaigns({ query: { cursor } }))
  return (
    <Page
      title={t('title')}
      actions={
        canWrite && (
          <Button component={Link} to={`/${environment}/campaigns/new`}>
            {t('new')}
          </Button>
        )
      }
    >
      <List query={campaigns} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('name'),
                cell: ({ id, name }) => (
                  <Link to="/$environment/campaigns/$id" params={{ environment, id }}>
                    {name}
                  </Link>
                ),
              },
              { title: t('state'), cell: ({ status }) => <State value={status} /> },
              {
                title: t('settled'),
                align: 'right',
                cell: ({ progress: { settled, total } }) => (
                  <>
                    {count(settled)} / {count(total)}
                    <Progress value={total === 0 ? 0 : (100 * settled) / total} aria-label={t('settled')} />
                  </>
                ),
              },
            ]}
          />
        )}
      </List>
    </Page>
  )
}
