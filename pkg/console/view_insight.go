package console

import "net/http"

func (c *Console) insight(r *http.Request) (page, error) {
	p, err := c.place(r)
	if err != nil {
		return page{}, err
	}
	return page{Template: "insight", Title: "Insight", Tab: "insight", Place: p, Live: []area{records}}, nil
}
