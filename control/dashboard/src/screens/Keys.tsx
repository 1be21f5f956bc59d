import { Button, Code, NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { Confirm, FormDialog, KeptDialog, Once } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { useSession } from '../session.js'

const SCOPES = ['read', 'write', 'admin'] as const
type Scope = (typeof SCOPES)[number]
const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope)

/** Lists and creates API keys of the environment. */
export function Keys() {
  const t = useTranslations('keys')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const { time } = useFormat()
  const [creating, setCreating] = useState(false)
  const [deleted, setDeleted] = useState<{ readonly id: string; readonly name: string } | null>(null)
  const keys = useList(['keys'], (cursor) => api.listApiKeys({ query: { cursor } }), { enabled: canManage })
  const remove = useAction(
    (id: string) => api.deleteApiKey({ id }),
    () => setDeleted(null),
  )
  if (!canManage) {
    return (
      <Page title={t('title')}>
        <Text>{t('sessionOnly')}</Text>
      </Page>
    )
  }
  return (
    <Page title={t('title')} actions={<Button onClick={() => setCreating(true)}>{t('new')}</Button>}>
      <List query={keys} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: tCommon('name'), cell: ({ name }) => name },
              { title: t('start'), cell: ({ start }) => <Code>{start}…</Code> },
              {
                title: t('scopes'),
                cell: ({ scopes }) => scopes.map((scope) => (isScope(scope) ? t(scope) : scope)).join(', '),
              },
              {
                title: t('used'),
                cell: ({ lastUsedAt }) => (lastUsedAt === null ? t('never') : time(lastUsedAt)),
              },
              {
                title: '',
                align: 'right',
                cell: ({ id, name }) => (
                  <Button size="xs" variant="default" onClick={() => setDeleted({ id, name })}>
                    {tCommon('delete')}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </List>
      {creating && <NewKey close={() => setCreating(false)} />}
      {deleted !== null && (
        <Confirm
          title={tCommon('delete')}
          text={t('confirmDelete', { name: deleted.name })}
          label={tCommon('delete')}
          action={{ ...remove, mutate: () => remove.mutate(deleted.id) }}
          close={() => setDeleted(null)}
        />
      )}
    </Page>
  )
}

function NewKey({ close }: { readonly close: () => void }) {
  const t = useTranslations('keys')
  const tCommon = useTranslations('common')
  const { api, environment } = useSession()
  const form = useFields({ name: '', scope: 'write' as string })
  const { name, scope } = form.values
  const create = useAction(() => api.createApiKey({ body: { name, environment, scopes: [scope as Scope] } }))
  if (create.data !== undefined) {
    return (
      <KeptDialog title={t('created')} close={close} size="lg">
        <Once text={t('once')} secrets={[[name, create.data.key]]} />
      </KeptDialog>
    )
  }
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('create')}>
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
      <NativeSelect
        label={t('scopes')}
        data={SCOPES.map((value) => ({ value, label: t(value) }))}
        {...form.text('scope')}
      />
    </FormDialog>
  )
}
