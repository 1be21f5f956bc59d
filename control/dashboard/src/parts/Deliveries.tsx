import { Button, Title } from '@mantine/core'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { List, useAction, useList } from './List.js'
import { Problem } from './Problem.js'
import { Rows } from './Rows.js'
import { State, useWord } from './Word.js'

/** Lists what was sent to the endpoints, and sends it again on request. */
export function Deliveries({ urls }: { readonly urls: ReadonlyMap<string, string> }) {
  const t = useTranslations('deliveries')
  const { api, canManage } = useSession()
  const { time } = useFormat()
  const word = useWord()
  const deliveries = useList(['webhooks', 'deliveries'], (cursor) =>
    api.listWebhookDeliveries({ query: { limit: 20, cursor } }),
  )
  const repeat = useAction((deliveryId: string) => api.redeliverWebhook({ deliveryId }))
  return (
    <>
      <Title order={2} size="h3">
        {t('title')}
      </Title>
      {repeat.error !== null && <Problem error={repeat.error} />}
      <List query={deliveries} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: t('when'), cell: ({ createdAt }) => time(createdAt) },
              { title: t('event'), cell: ({ type }) => type },
              { title: t('endpoint'), cell: ({ endpointId }) => urls.get(endpointId) ?? endpointId },
              { title: t('state'), cell: ({ status }) => <State value={status} /> },
              { title: t('attempts'), align: 'right', cell: ({ attempts }) => attempts },
              {
                title: t('answer'),
                cell: ({ lastStatus, lastError }) =>
                  [lastStatus, lastError === null || lastError === 'status' ? null : word(lastError)]
                    .filter((part) => part !== null)
                    .join(', '),
              },
              {
                title: '',
                align: 'right',
                cell: ({ id }) =>
                  canManage && (
                    <Button
                      size="xs"
                      variant="default"
                      onClick={() => repeat.mutate(id)}
                      loading={repeat.isPending && repeat.variables === id}
                    >
                      {t('repeat')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
    </>
  )
}
