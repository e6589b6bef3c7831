package sqlite

import (
	"fmt"

	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/store"
)

func (t tx) Image(id string) (image.Image, error) {
	return one[image.Image](t, "image", "SELECT record FROM images WHERE id = ?", id)
}

func (t tx) Images(organizationID string, q store.PageQuery) (store.Page[image.Image], error) {
	return page(t, "images", "FROM images WHERE organization_id = ?", []any{organizationID}, q,
		func(i image.Image) string { return i.ID })
}

func (t tx) AllImages() ([]image.Image, error) {
	return list[image.Image](t, "images", "SELECT record FROM images ORDER BY id")
}

func (t tx) ImagesInUse() ([]string, error) {
	ids, err := t.texts(`SELECT DISTINCT json_extract(runs.record, '$.ImageID') FROM standings
		JOIN runs ON runs.id = standings.verdict WHERE json_extract(runs.record, '$.ImageID') <> '' ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("read images in use: %w", err)
	}
	return ids, nil
}

func (t tx) PutImage(i image.Image) error {
	record, err := encode(i)
	if err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO images (id, organization_id, record) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record WHERE organization_id = excluded.organization_id`,
		i.ID, i.OrganizationID, record)
	return changed(n, err, "save image")
}

func (t tx) DeleteImage(id string) error {
	n, err := t.exec("DELETE FROM images WHERE id = ?", id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("delete image: %w", err)
	}
	return nil
}
