import { Alert, Button, Code, Group, Modal, MultiSelect, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateWebhookBody } from '../../../../clients/typescript/generated/types.js'
import { Empty, Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type EventType = CreateWebhookBody['events'][number]

const TYPES: readonly EventType[] = [
  'call.initiated',
  'call.answered',
  'call.completed',
  'call.failed',
  'call.transfer_started',
  'call.transferred',
  'call.transfer_failed',
  'campaign.completed',
  'campaign.paused',
  'compliance.check.blocked',
  'wallet.balance.low',
  'number.renewal_due',
  'number.released',
  'number.suspended',
  'number.reactivated',
  'knowledge.build.completed',
  'knowledge.build.failed',
]

/** Lists the endpoints that the service reports events to. */
export function Webhooks() {
  const t = useTranslations('webhooks')
  const { api, canManage } = useSession()
  const key = useKey()
  const [creating, setCreating] = useState(false)
  const webhooks = useQuery({
    queryKey: key('webhooks'),
    queryFn: () => api.listWebhooks({ query: { limit: 100 } }),
  })
  const test = useMutation({ mutationFn: (id: string) => api.testWebhook({ id }) })
  return (
    <Page
      title={t('title')}
      actions={canManage && <Button onClick={() => setCreating(true)}>{t('new')}</Button>}
    >
      {test.error !== null && <Problem error={test.error} />}
      {test.data !== undefined && (
        <Alert role="status" color={test.data.ok ? 'green' : 'red'}>
          {test.data.status === null
            ? t('testFailed')
            : t('tested', { status: test.data.status, ms: test.data.durationMs })}
        </Alert>
      )}
      <Loaded query={webhooks}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('empty')} />
          ) : (
            <Rows
              label={t('title')}
              rows={items}
              idOf={({ id }) => id}
              columns={[
                { title: t('url'), cell: ({ url }) => url },
                { title: t('events'), cell: ({ events }) => events.join(', ') },
                {
                  title: t('on'),
                  cell: ({ enabled }) => (
                    <Word color={enabled ? 'green.9' : 'red.9'}>{enabled ? t('on') : t('off')}</Word>
                  ),
                },
                {
                  title: t('failures'),
                  align: 'right',
                  cell: ({ consecutiveFailures }) => consecutiveFailures,
                },
                {
                  title: '',
                  cell: ({ id }) =>
                    canManage && (
                      <Button
                        size="xs"
                        variant="default"
                        onClick={() => test.mutate(id)}
                        loading={test.isPending}
                      >
                        {t('test')}
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {creating && <NewWebhook close={() => setCreating(false)} />}
    </Page>
  )
}

function NewWebhook({ close }: { readonly close: () => void }) {
  const t = useTranslations('webhooks')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const [url, setUrl] = useState('https://')
  const [events, setEvents] = useState<readonly string[]>(['call.completed'])
  const create = useMutation({
    mutationFn: () => api.createWebhook({ body: { url, events: events as readonly EventType[] } }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: key('webhooks') }),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Modal
      opened
      onClose={close}
      size="lg"
      title={t('new')}
      closeButtonProps={{ 'aria-label': tCommon('cancel') }}
    >
      {create.data !== undefined ? (
        <Stack>
          {t('secret')}
          <Code block>{create.data.secret}</Code>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {create.error !== null && <Problem error={create.error} />}
            <TextInput
              label={t('url')}
              type="url"
              required
              data-autofocus
              value={url}
              onChange={({ currentTarget }) => setUrl(currentTarget.value)}
            />
            <MultiSelect
              label={t('events')}
              data={[...TYPES]}
              value={[...events]}
              onChange={setEvents}
              searchable
              required
            />
            <Group>
              <Button type="submit" loading={create.isPending}>
                {tCommon('create')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}
