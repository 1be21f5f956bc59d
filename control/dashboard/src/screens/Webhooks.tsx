import { Alert, Button, MultiSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { EVENT_TYPES, type EventType } from '../../../../clients/typescript/generated/event-types.js'
import { Deliveries } from '../parts/Deliveries.js'
import { Dialog, FormDialog, Once } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { Word } from '../parts/Word.js'
import { useSession } from '../session.js'

/** Lists the endpoints that the service reports events to. */
export function Webhooks() {
  const t = useTranslations('webhooks')
  const { api, canManage } = useSession()
  const [creating, setCreating] = useState(false)
  const webhooks = useList(['webhooks'], (cursor) => api.listWebhooks({ query: { cursor } }))
  const urls = new Map(
    webhooks.data?.pages.flatMap(({ items }) => items.map(({ id, url }) => [id, url] as const)),
  )
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
      <List query={webhooks} empty={t('empty')}>
        {(items) => (
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
                  <Word color={enabled ? 'green' : 'red'}>{enabled ? t('on') : t('off')}</Word>
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
        )}
      </List>
      {urls.size > 0 && <Deliveries urls={urls} />}
      {creating && <NewWebhook close={() => setCreating(false)} />}
    </Page>
  )
}

function NewWebhook({ close }: { readonly close: () => void }) {
  const t = useTranslations('webhooks')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const form = useFields({ url: 'https://' })
  const [events, setEvents] = useState<readonly string[]>(['call.completed'])
  const create = useAction(() =>
    api.createWebhook({ body: { url: form.values.url, events: events as readonly EventType[] } }),
  )
  if (create.data !== undefined) {
    return (
      <Dialog title={t('new')} close={close} size="lg">
        <Once text={t('once')} secrets={[[t('secret'), create.data.secret]]} />
      </Dialog>
    )
  }
  return (
    <FormDialog
      title={t('new')}
      close={close}
      size="lg"
      action={create}
      submit={tCommon('create')}
      disabled={events.length === 0}
    >
      <TextInput label={t('url')} type="url" required data-autofocus {...form.text('url')} />
      <MultiSelect
        label={t('events')}
        data={[...EVENT_TYPES]}
        value={[...events]}
        onChange={setEvents}
        searchable
      />
    </FormDialog>
  )
}
