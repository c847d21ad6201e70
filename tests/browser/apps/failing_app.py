import streamlit as st

st.text("before")
if st.button("break"):
    raise ValueError("a secret detail of the failure")
